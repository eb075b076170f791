"""What the node tells the stand-in: its peers, the time scale and the faults to show.

`$REHEARSAL_TRAINER` names a JSON file:

    {"seconds_per_step": 0.005,
     "faults": {"sft": {"kind": "exit", "at_step": 300, "host": 5, "exit_code": 1, "times": 1}}}

Kinds of fault: `exit` (with `exit_code` and `message`), `partial_checkpoint` (the save of `at_step`
ends without its markers, then exit 137), `early_end` (the data runs out at `at_step`, exit 0),
`hang`, `nan`, `out_of_memory`, `missing_shard` (shard number `at_step` of the export),
`config_error` (with `message`), `late_exit` (as `exit`, but after the last save). `host` limits a
fault to one host, `times` to the first attempts.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = (
    *("exit", "partial_checkpoint", "early_end", "hang", "nan", "out_of_memory"),
    *("missing_shard", "config_error", "late_exit"),
)
# A run of the guide's 1000 steps takes about 7 s with its saves.
SECONDS_PER_STEP = 0.005


@dataclass(frozen=True)
class Fault:
    """What goes wrong, when and where."""

    kind: str = "exit"
    at_step: int = 1
    host: int | None = None
    exit_code: int = 1
    message: str = "injected fault"
    times: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"fault kind {self.kind!r} is not one of {', '.join(KINDS)}")


@dataclass(frozen=True)
class Settings:
    """The node's word to one process."""

    host: int = 0
    hosts: int = 1
    slice_id: int = 0
    coordinator: tuple[str, int] = ("127.0.0.1", 0)
    seconds_per_step: float = SECONDS_PER_STEP
    swallow_sigterm: bool = True
    survivors_exit_code: int = 134
    faults: tuple[Fault, ...] = ()
    counters: Path | None = field(default=None, compare=False)

    def fault(self, kind: str, step: int | None = None) -> Fault | None:
        """Return the fault of this kind that is due on this host (at `step`, if it is given)."""
        for fault in self.faults:
            if fault.kind != kind or fault.host not in (None, self.host):
                continue
            if step in (None, fault.at_step) and self._left(fault):
                return fault
        return None

    def _left(self, fault: Fault) -> bool:
        """Count an occurrence on this host; return whether the fault was still due."""
        if fault.times is None or self.counters is None:
            return True
        self.counters.mkdir(parents=True, exist_ok=True)
        for number in range(fault.times):
            name = f"{fault.kind}-{fault.at_step}-host{self.host}-{number}"
            try:
                (self.counters / name).touch(exist_ok=False)
            except FileExistsError:
                continue
            return True
        return False


def read(stage: str) -> Settings:
    """Return the settings of this process from its environment."""
    file = Path(os.environ.get("REHEARSAL_TRAINER", os.devnull))
    text = file.read_text() if file.exists() else ""
    document: dict[str, Any] = json.loads(text) if text.strip() else {}
    found = (document.get("faults") or {}).get(stage) or []
    faults = found if isinstance(found, list) else [found]
    address, _, port = os.environ.get("REHEARSAL_COORDINATOR", "127.0.0.1:0").partition(":")
    return Settings(
        host=int(os.environ.get("JOB_COMPLETION_INDEX") or 0),
        hosts=int(os.environ.get("REHEARSAL_HOSTS") or 1),
        slice_id=int(os.environ.get("MEGASCALE_SLICE_ID") or 0),
        coordinator=(address, int(port)),
        seconds_per_step=float(document.get("seconds_per_step", SECONDS_PER_STEP)),
        swallow_sigterm=bool(document.get("swallow_sigterm", True)),
        survivors_exit_code=int(document.get("survivors_exit_code", 134)),
        faults=tuple(Fault(**fault) for fault in faults),
        counters=file.with_name("trainer-faults") / stage,
    )
