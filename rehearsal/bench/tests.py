"""How long the tests take, as whole processes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rehearsal.bench.clouds import PREFIX
from rehearsal.bench.commands import plain_environment, timed
from rehearsal.environment import CHECKOUT

# As `make check` runs them.
_UNIT = [
    "-m",
    "pytest",
    "-q",
    "-n",
    "2",
    "--dist",
    "worksteal",
    "-m",
    "not rehearsal and not maxtext",
]

Found = Iterator[tuple[str, float]]


def unit(runs: int) -> Found:
    """Yield the time of the unit tests."""
    return _times("unit", [sys.executable, *_UNIT], runs)


def everything(runs: int) -> Found:
    """Yield the time of `make test`."""
    return _times("test", ["make", "test"], runs)


def _times(key: str, command: list[str], runs: int) -> Found:
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        for _ in range(runs):
            yield key, timed(command, plain_environment(), CHECKOUT, Path(folder, "tests.txt"))
