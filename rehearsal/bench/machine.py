"""What the figures depend on: the machine and the versions; and whether it was quiet."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from rehearsal.cli import Stack
from rehearsal.maxtext_environment import REQUIREMENTS

# Of each core. Above it another program takes part of what is measured.
QUIET_LOAD = 0.5


def description(stack: Stack) -> str:
    """Return machine and versions in one line; `stack` tells which engine would run."""
    engine = subprocess.run(
        ["pulumi", "version"],
        env=stack.environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    pinned = re.search(r"(?m)^maxtext==(\S+)", REQUIREMENTS.read_text())
    parts = [
        f"{cores()} cores ({processor()})",
        f"{memory_gib():.0f} GiB",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        f"Pulumi {engine.stdout.strip().removeprefix('v')}",
        f"MaxText {pinned[1]}" if pinned else "",
    ]
    return ", ".join(part for part in parts if part)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def processor() -> str:
    """Return the processor's name, or its architecture where the kernel tells none."""
    found = re.search(r"(?m)^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text())
    return found[1].strip() if found else platform.machine()


def memory_gib() -> float:
    """Return the machine's memory in GiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def disturbance() -> str:
    """Return a warning if other programs use the processor, else nothing."""
    load = os.getloadavg()[0]
    if load <= QUIET_LOAD * cores():
        return ""
    return f"the machine is not quiet (load {load:.1f}): times will be too long"
