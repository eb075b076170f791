"""The log of the training, fetched through the API server as `kubectl logs` does."""

import os
from typing import Any

from kubernetes import client, config

from rehearsal.losscurve import LossPoint
from workloads.provider.progress import Progress

# One host tells it all: every process of a run logs the same steps.
_FIRST_HOST = "maxtext-sft/stage=sft,batch.kubernetes.io/job-completion-index=0"


def loss_points() -> list[LossPoint]:
    """Return step and loss of every step of the newest training in the cluster of KUBECONFIG."""
    # The library reads KUBECONFIG when it is imported, which was before this cloud had a cluster.
    config.load_kube_config(os.environ["KUBECONFIG"])  # type: ignore[no-untyped-call]
    core = client.CoreV1Api()
    # Every field may be None by the library's types; pods that the server lists have them all.
    pods: list[Any] = core.list_pod_for_all_namespaces(label_selector=_FIRST_HOST).items
    if not pods:
        return []
    newest = max(pods, key=lambda pod: pod.metadata.creation_timestamp).metadata
    text = core.read_namespaced_pod_log(newest.name, newest.namespace)
    return steps_of(text.splitlines())


def steps_of(lines: list[str]) -> list[LossPoint]:
    """Return step and loss of every `completed step` line."""
    progress = Progress()
    points: dict[int, float] = {}
    for line in lines:
        if progress.read(line) and progress.step is not None and progress.last_loss is not None:
            points[progress.step] = progress.last_loss
    return sorted(points.items())
