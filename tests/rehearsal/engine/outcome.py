"""What one `pulumi` command did, read from its event log and not from its text."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Object = dict[str, Any]
STAGES = ("hf-to-mt", "sft", "mt-to-hf")
STAGE_TYPE = "maxtext:index:Stage"


@dataclass(frozen=True)
class Outcome:
    """The end of one command: exit code, text, seconds and the engine's events."""

    code: int
    text: str
    seconds: float
    ended: float
    events: list[Object] = field(default_factory=list, repr=False)

    def operations(self) -> dict[str, str]:
        """Return what the engine did with each stage, by the stage's name."""
        steps = (event["resourcePreEvent"]["metadata"] for event in self.events_of("resourcePre"))
        return {stage_of(step["urn"]): step["op"] for step in steps if step["type"] == STAGE_TYPE}

    def changed(self) -> set[str]:
        """Return the URNs that the command changed in any way."""
        done = [event["resourcePreEvent"]["metadata"] for event in self.events_of("resourcePre")]
        return {step["urn"] for step in done if step["op"] not in ("same", "refresh", "read")}

    def events_of(self, kind: str) -> list[Object]:
        """Return the events of a kind such as `diagnostic`, oldest first."""
        return [event for event in self.events if f"{kind}Event" in event]

    def messages(self, *severities: str) -> str:
        """Return the lasting diagnostics of these severities as one text."""
        found = [event["diagnosticEvent"] for event in self.events_of("diagnostic")]
        return "\n".join(
            message["message"]
            for message in found
            if message["severity"] in severities and not message.get("ephemeral")
        )


def read_events(path: Path) -> list[Object]:
    """Return the events of an event log; a killed command leaves half a line at its end."""
    if not path.exists():
        return []
    events = []
    for line in path.read_text().splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            break
    return events


def stage_of(urn: str) -> str:
    """Return the stage that a URN names, such as `sft`."""
    return urn.rpartition("::")[2].removeprefix("run-")
