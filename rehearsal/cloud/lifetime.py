"""Linux's means to make processes end with the one that started them.

Two nets, because each has a hole. The parent-death signal reaches a direct child, also after
SIGKILL, but not a grandchild. A child subreaper inherits every orphan below it, so that whoever is
left can find them all; it must itself be alive.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)


def become_subreaper() -> None:
    """Let orphans among the descendants become children of this process, not of init."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_on_parent_death(number: int, parent: int) -> None:
    """Have the kernel signal this process when the thread that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it died before the call
        os.kill(os.getpid(), number)


def dies_with_parent() -> Callable[[], None]:
    """Return what a child calls between fork and exec so that it is killed with its parent.

    The kernel looks at the thread that forked, so it has to be one that lives long.
    """
    parent = os.getpid()

    def before_exec() -> None:
        signal_on_parent_death(signal.SIGKILL, parent)

    return before_exec


def children(pid: int) -> list[int]:
    """Return the direct children of a process, zombies included."""
    return [child for child, parent in _parents().items() if parent == pid]


def descendants(pid: int) -> list[int]:
    """Return every process below one, parents before children."""
    below: dict[int, list[int]] = {}
    for child, parent in _parents().items():
        below.setdefault(parent, []).append(child)
    found = list(below.get(pid, []))
    for process in found:  # grows while it is walked
        found.extend(below.get(process, []))
    return found


def kill_descendants() -> None:
    """Kill every process below this one and collect it; returns when none is left.

    Needs `become_subreaper` before: each killed parent hands its children up to this process.
    """
    while True:
        for process in descendants(os.getpid()):
            _kill(process, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            return


def kill_group(pid: int, number: int) -> None:
    """Signal the process group that a process leads; nothing happens when it is gone."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def kill_marked_orphans(reaper: int, marker: str) -> None:
    """Kill what a container left behind outside its process group.

    Such a process has become a child of the reaper; `NAME=value` in its environment says whose it
    was.
    """
    for process in children(reaper):
        try:
            environment = Path(f"/proc/{process}/environ").read_bytes()
        except OSError:
            continue
        if marker.encode() in environment.split(b"\0"):
            _kill(process, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value}) failed")


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _parents() -> dict[int, int]:
    return dict(_entries())


def _entries() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The command in parentheses may hold anything, also parentheses.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        yield int(name), int(fields[1])
