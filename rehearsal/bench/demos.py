"""`make demo` as a person runs it, warm; the guide's one is also watched from the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rehearsal.bench.clouds import GUIDE, temporary_home
from rehearsal.bench.commands import BenchError, plain_environment, timed
from rehearsal.bench.events import Events, handovers
from rehearsal.bench.processes import PeakMemory, Sampler, used_bytes
from rehearsal.environment import CHECKOUT

_LOOK_SECONDS = 0.5
_HANDOVERS = 2

Found = Iterator[tuple[str, float]]


def real(runs: int) -> Found:
    """Yield the time of `make demo` with the real MaxText, and what it leaves."""
    for _ in range(runs):
        with temporary_home() as home:
            yield "demo-real", _demo("rehearsal", home)
            yield "size-home-real", used_bytes(home) / 1e6


def guide(runs: int) -> Found:
    """Yield time, hand-overs between stages, and the provider's memory of the guide's demo."""
    for _ in range(runs):
        with temporary_home() as home:
            events, peak = Events(home), PeakMemory(home)
            with events.following(), Sampler(peak.read, _LOOK_SECONDS):
                yield "demo-guide", _demo(GUIDE, home)
            seconds = handovers(events.all)
            if len(seconds) != _HANDOVERS:
                raise BenchError(f"saw {len(seconds)} hand-overs of {_HANDOVERS} in the demo")
            yield from (("handover", each) for each in seconds)
            yield "provider-memory", peak.mib
            yield "size-home-guide", used_bytes(home) / 1e6


def _demo(stack: str, home: Path) -> float:
    environment = plain_environment() | {"REHEARSAL_HOME": str(home)}
    command = ["make", "demo", f"STACK={stack}"]
    return timed(command, environment, CHECKOUT, home.parent / "demo.txt")
