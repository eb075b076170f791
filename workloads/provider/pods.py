"""Read from pod objects where a pod is stuck, how it ended, and which one failed first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_JOBSET = "jobset.sigs.k8s.io/"
# Exit codes that a pod gets because of what happened elsewhere: SIGABRT by JAX's distributed
# service when a peer died, SIGTERM when the Job stops its other pods.
_CODES_OF_PEERS = frozenset({134, 143})


@dataclass(frozen=True, kw_only=True)
class PodFacts:
    """What is kept of one pod, a few hundred bytes instead of its whole object."""

    name: str
    uid: str
    attempt: int
    slice_index: int
    host_index: int
    node: str
    phase: str
    ready: bool
    terminating: bool
    waiting: str
    exit_code: int | None
    reason: str
    last_lines: str
    ended: str
    container: str

    @property
    def failed(self) -> bool:
        """Whether the pod ended otherwise than well."""
        return self.phase == "Failed" or (self.exit_code is not None and self.exit_code != 0)

    @property
    def speaks(self) -> bool:
        """Whether this is the pod whose log tells the progress: first host of the first slice."""
        return self.slice_index == 0 and self.host_index == 0


def facts(pod: Mapping[str, Any]) -> PodFacts:
    """Return the facts of a pod object of the Kubernetes API (core/v1)."""
    metadata, status = pod["metadata"], pod.get("status", {})
    labels = metadata.get("labels", {})
    annotations = metadata.get("annotations", {})
    containers = status.get("containerStatuses", [])
    ended = _first_ended(containers)
    index = labels.get("batch.kubernetes.io/job-completion-index") or annotations.get(
        "batch.kubernetes.io/job-completion-index"
    )
    return PodFacts(
        name=metadata["name"],
        uid=metadata["uid"],
        attempt=_number(labels.get(_JOBSET + "restart-attempt")),
        slice_index=_number(labels.get(_JOBSET + "job-index")),
        host_index=_number(index),
        node=pod.get("spec", {}).get("nodeName", ""),
        phase=status.get("phase", "Pending"),
        ready=status.get("phase") == "Running"
        and any("running" in container.get("state", {}) for container in containers),
        terminating="deletionTimestamp" in metadata,
        waiting=_waiting(status, containers),
        exit_code=ended.get("exitCode"),
        # "Error" says no more than the exit code does; an eviction is told by the pod itself.
        reason=status.get("reason") or _if_telling(ended.get("reason", "")),
        last_lines=ended.get("message") or status.get("message", ""),
        ended=ended.get("finishedAt") or "",
        container=_container(pod),
    )


def first_failed(pods: Iterable[PodFacts]) -> PodFacts | None:
    """Return the pod of the newest attempt that failed first by itself.

    When a host dies its peers abort with 134 or are stopped with 143; what they say is not the
    reason. Times have a resolution of one second, so a peer's code decides among equals.
    """
    failed = [pod for pod in pods if pod.failed]
    if not failed:
        return None
    newest = max(pod.attempt for pod in failed)
    candidates = [pod for pod in failed if pod.attempt == newest]
    own = [pod for pod in candidates if pod.exit_code not in _CODES_OF_PEERS]
    return min(
        own or candidates, key=lambda pod: (pod.ended or "9999", pod.slice_index, pod.host_index)
    )


def describe(pods: Iterable[PodFacts], expected: int) -> str:
    """Return in a few words where the pods of the newest attempt are.

    `expected` is the number of pods the JobSet asks for.
    """
    everyone = list(pods)
    newest = max((pod.attempt for pod in everyone), default=0)
    current = [pod for pod in everyone if pod.attempt == newest and not pod.terminating]
    ready = sum(pod.ready or pod.phase == "Succeeded" for pod in current)
    if ready >= expected:
        return f"{ready}/{expected} pods running"
    stuck = sorted(pod.waiting for pod in current if pod.waiting)
    if stuck:
        return f"{ready}/{expected} pods running; {_most_common(stuck)}"
    return f"{ready}/{expected} pods running, {len(current)} created"


def _container(pod: Mapping[str, Any]) -> str:
    containers = pod.get("spec", {}).get("containers", [])
    return str(containers[0]["name"]) if containers else ""


def _first_ended(containers: list[Any]) -> Mapping[str, Any]:
    ended = [c["state"]["terminated"] for c in containers if c.get("state", {}).get("terminated")]
    failed = [state for state in ended if state.get("exitCode")]
    found: Mapping[str, Any] = next(iter(failed or ended), {})
    return found


def _if_telling(reason: str) -> str:
    return "" if reason in ("Error", "Completed") else reason


def _waiting(status: Mapping[str, Any], containers: list[Any]) -> str:
    for condition in status.get("conditions", []):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"not scheduled: {condition.get('message') or condition.get('reason', '')}"
    for container in containers:
        state = container.get("state", {}).get("waiting")
        if state and state.get("reason") == "ContainerCreating":
            return "image pull or volume set-up"
        if state:
            return f"{state.get('reason', 'waiting')}: {state.get('message', '')}".rstrip(": ")
    if status.get("phase", "Pending") == "Pending" and status.get("conditions"):
        return "image pull or volume set-up"
    return ""


def _most_common(texts: list[str]) -> str:
    return max(texts, key=texts.count)


def _number(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0
