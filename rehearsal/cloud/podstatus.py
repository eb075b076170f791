"""The status of a pod as a kubelet would write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rehearsal.cloud.containers import Container, timestamp

Object = dict[str, Any]
HOST_ADDRESS = "127.0.0.1"


def pod_status(
    phase: str,
    *,
    containers: Sequence[Container],
    init_containers: Sequence[Container],
    previous: Object,
    address: str,
    started: str,
) -> Object:
    """Return the whole status; times of conditions that stay are kept from the previous one."""
    status = {
        "phase": phase,
        "startTime": started,
        "hostIP": HOST_ADDRESS,
        "hostIPs": [{"ip": HOST_ADDRESS}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": _conditions(phase, containers, init_containers, previous),
        "containerStatuses": [_container_status(container) for container in containers],
    }
    if init_containers:
        status["initContainerStatuses"] = [_container_status(c) for c in init_containers]
    return status


def _conditions(
    phase: str,
    containers: Sequence[Container],
    init_containers: Sequence[Container],
    previous: Object,
) -> list[Object]:
    ready = phase == "Running" and all(container.running for container in containers)
    why = "" if ready else "PodCompleted" if phase == "Succeeded" else "ContainersNotReady"
    wanted = {
        "PodReadyToStartContainers": (phase == "Running", ""),
        "Initialized": (all(c.exit_code == 0 for c in init_containers), ""),
        "Ready": (ready, why),
        "ContainersReady": (ready, why),
        "PodScheduled": (True, ""),
    }
    known = {condition["type"]: condition for condition in previous.get("conditions") or []}
    for kind, (holds, reason) in wanted.items():
        state = "True" if holds else "False"
        if known.get(kind, {}).get("status") != state:
            known[kind] = {"type": kind, "status": state, "lastTransitionTime": timestamp()}
            if reason:
                known[kind]["reason"] = reason
    return list(known.values())


def _container_status(container: Container) -> Object:
    return {
        "name": container.name,
        "image": container.manifest["image"],
        "imageID": "local",
        "containerID": container.id,
        "ready": container.running,
        "started": container.running,
        "restartCount": container.restarts,
        "state": container.state,
        "lastState": container.last_state,
    }
