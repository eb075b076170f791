"""What GKE's TPU webhook adds to the containers of a pod that asks for chips.

GKE documents the variables under "Automatic topology and environment variables"
(https://cloud.google.com/kubernetes-engine/docs/concepts/tpus); JAX reads the worker list and id.
"""

from __future__ import annotations

import math
from typing import Any

Object = dict[str, Any]
TPU = "google.com/tpu"
_INDEX = "batch.kubernetes.io/job-completion-index"
# How the chips of one host lie: https://cloud.google.com/tpu/docs/v6e
_HOST_BOUNDS = {1: "1,1,1", 4: "2,2,1", 8: "2,4,1"}


def chips(container: Object) -> int:
    """Return how many chips a container asks for."""
    resources = container.get("resources") or {}
    for kind in ("limits", "requests"):
        if TPU in (resources.get(kind) or {}):
            return int(resources[kind][TPU])
    return 0


def variables(pod: Object, container: Object) -> dict[str, str]:
    """Return the variables of one container; none when it asks for no chips."""
    per_host = chips(container)
    if not per_host:
        return {}
    metadata = pod["metadata"]
    topology = (pod["spec"].get("nodeSelector") or {}).get("cloud.google.com/gke-tpu-topology", "")
    sides = [int(side) for side in topology.split("x") if side.isdigit()]
    hosts = max(math.prod(sides) // per_host, 1) if sides else 1
    index = (metadata.get("annotations") or {}).get(_INDEX, "0")
    found = {
        "TPU_WORKER_ID": index,
        "TPU_WORKER_HOSTNAMES": ",".join(_host_names(pod, hosts)),
        "TPU_TOPOLOGY": topology,
        "TPU_SKIP_MDS_QUERY": "true",
        "TPU_CHIPS_PER_HOST_BOUNDS": _HOST_BOUNDS.get(per_host, f"{per_host},1,1"),
    }
    if topology:
        found["TPU_ACCELERATOR_TYPE"] = f"v6e-{math.prod(sides)}"
    return found


def _host_names(pod: Object, hosts: int) -> list[str]:
    spec = pod["spec"]
    name = spec.get("hostname") or pod["metadata"]["name"]
    if hosts == 1 or not spec.get("subdomain"):
        return [name] if hosts > 1 else ["localhost"]
    job = name.rpartition("-")[0]  # an indexed Job names its pods' hosts <job>-<index>
    return [f"{job}-{index}.{spec['subdomain']}" for index in range(hosts)]
