"""Errors and delays on demand, so that a test can see what the program does about them.

`<home>/google/faults.json` is a list of
{"type": "gcp:container/nodePool:NodePool", "operation": "create", "name": "tpu",
 "message": "...", "times": 1, "delay_seconds": 0}
`name` (of the resource in the program), `message` and `delay_seconds` may be missing; without a
message there is only the delay. `times` (default 1) is counted over all commands, in
faults-used.json; null is always.
"""

from __future__ import annotations

import threading
from typing import Any

from rehearsal.google.state import State
from rehearsal.plugin import RefusedError, Resource


class Faults:
    """The faults that a home has in store for its Google Cloud."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._cancelled = threading.Event()

    def meet(self, resource: Resource, operation: str) -> None:
        """Wait and fail as the file says for this operation.

        Raises:
            RefusedError: with the fault's message, or because the command was cancelled in a delay.
        """
        for fault in self._due(resource, operation):
            if self._cancelled.wait(fault.get("delay_seconds", 0)):
                raise RefusedError(f"{operation} of {resource.name} cancelled; nothing was changed")
            if "message" in fault:
                raise RefusedError(fault["message"])

    def cancel(self) -> None:
        """End every delay at once, and those still to come."""
        self._cancelled.set()

    def _due(self, resource: Resource, operation: str) -> list[dict[str, Any]]:
        """The faults that apply now, each counted as used."""
        if not self._state.document("faults.json", default=[]):
            return []
        with self._state.lock():
            used = self._state.document("faults-used.json", default={})
            due = []
            for index, fault in enumerate(self._state.document("faults.json", default=[])):
                key = f"{index} {fault['type']} {fault['operation']} {fault.get('message', '')}"
                times = fault.get("times", 1)
                if _fits(fault, resource, operation) and (
                    times is None or used.get(key, 0) < times
                ):
                    used[key] = used.get(key, 0) + 1
                    due.append(fault)
            self._state.write_document("faults-used.json", document=used)
        return due


def _fits(fault: dict[str, Any], resource: Resource, operation: str) -> bool:
    named = bool(fault.get("name", resource.name) == resource.name)
    return named and (fault["type"], fault["operation"]) == (resource.kind, operation)
