"""The cluster's own events as they arrive here, and what lies between two of them."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.watch.watch import iter_resp_lines

Object = dict[str, Any]
_RETRY_SECONDS = 0.1


@dataclass(frozen=True)
class Event:
    """One event of a watch and when it was received, in seconds of the monotonic clock."""

    at: float
    kind: str
    type: str
    item: Object

    @property
    def uid(self) -> str:
        """The object's uid."""
        return str(self.item["metadata"]["uid"])


class Events:
    """Collects the events of all JobSets and pods of a home's cluster, from its first one on."""

    def __init__(self, home: Path) -> None:
        self.all: list[Event] = []
        self._kubeconfig = home / "kubeconfig"
        self._ended = threading.Event()

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Collect while the body of the `with` goes on, also before there is a cluster."""
        for kind in ("jobset", "pod"):
            # A daemon: it may sit in a read until the cluster ends.
            threading.Thread(target=self._follow, args=(kind,), daemon=True).start()
        try:
            yield
        finally:
            self._ended.set()

    def _follow(self, kind: str) -> None:
        # A watch fails while the cluster comes up and when it is taken down.
        away = (ApiException, urllib3.exceptions.HTTPError, OSError, ValueError)
        while not self._ended.wait(_RETRY_SECONDS):
            with contextlib.suppress(*away):
                if self._has_cluster():
                    for line in self._lines(kind):
                        self._take(kind, line)

    def _has_cluster(self) -> bool:
        if not self._kubeconfig.exists():
            return False
        return bool(json.loads(self._kubeconfig.read_text())["current-context"])

    def _lines(self, kind: str) -> Iterator[str]:
        api = config.new_client_from_config(str(self._kubeconfig))  # type: ignore[no-untyped-call]
        # `watch` without a version: first everything that is there, then what changes.
        wanted: Object = {"watch": True, "_preload_content": False}
        response: Any
        if kind == "pod":
            response = client.CoreV1Api(api).list_pod_for_all_namespaces(**wanted)
        else:
            response = client.CustomObjectsApi(api).list_cluster_custom_object(
                "jobset.x-k8s.io", "v1alpha2", "jobsets", **wanted
            )
        yield from iter_resp_lines(response)  # type: ignore[no-untyped-call]

    def _take(self, kind: str, line: str) -> None:
        at = time.monotonic()
        event = json.loads(line)
        if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
            self.all.append(Event(at, kind, event["type"], event["object"]))


def handovers(events: Sequence[Event]) -> list[float]:
    """Return the seconds from each JobSet's condition Completed to the next JobSet's creation."""
    found: list[float] = []
    known: set[str] = set()
    completed: set[str] = set()
    last_end: float | None = None
    for event in (event for event in events if event.kind == "jobset"):
        if event.uid not in known and event.type == "ADDED":
            known.add(event.uid)
            if last_end is not None:
                found.append(event.at - last_end)
            last_end = None
        if event.uid not in completed and _is_completed(event.item):
            completed.add(event.uid)
            last_end = event.at
    return found


def first_exit(events: Sequence[Event], since: float) -> float | None:
    """Return when the first container since then was told to have ended with an error."""
    known: set[str] = set()
    for event in (event for event in events if event.kind == "pod"):
        # A pod that is deleted shows its old end once more.
        if event.uid in known or not _has_failed(event.item):
            continue
        known.add(event.uid)
        if event.at >= since:
            return event.at
    return None


def running_pods(events: Sequence[Event]) -> int:
    """Return how many pods run now."""
    newest = {event.uid: event for event in events if event.kind == "pod"}
    return sum(
        event.type != "DELETED" and event.item.get("status", {}).get("phase") == "Running"
        for event in newest.values()
    )


def _is_completed(jobset: Object) -> bool:
    conditions = jobset.get("status", {}).get("conditions") or []
    return any(item["type"] == "Completed" and item["status"] == "True" for item in conditions)


def _has_failed(pod: Object) -> bool:
    statuses = pod.get("status", {}).get("containerStatuses") or []
    return any(item["state"].get("terminated", {}).get("exitCode") for item in statuses)
