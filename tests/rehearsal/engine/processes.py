"""The processes of this machine, as the kernel shows them to whoever looks."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of processes whose arguments or environment name a folder."""
    wanted = str(folder).encode()
    return [
        f"{path.name}: {_read(path / 'cmdline').decode(errors='replace')}"
        for path in _processes()
        if wanted in _read(path / "cmdline") or wanted in _read(path / "environ")
    ]


def end_plugins_of(folder: Path, name: str) -> None:
    """Kill the processes of a plugin whose environment names a folder, and wait for their end."""
    wanted = str(folder).encode()
    for path in _processes():
        program = _read(path / "cmdline").partition(b"\0")[0]
        if program.endswith(f"/{name}".encode()) and wanted in _read(path / "environ"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(path.name), signal.SIGKILL)
            gone_within(int(path.name), 5)


def trainers_of(folder: Path) -> list[int]:
    """Return the process ids of the training processes whose environment names a folder."""
    wanted = str(folder).encode()
    return [
        int(path.name)
        for path in _processes()
        if b"train_sft" in _read(path / "cmdline") and wanted in _read(path / "environ")
    ]


def freeze(pids: list[int]) -> None:
    """Stop processes without ending them; `thaw` lets them go on."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)


def thaw(pids: list[int]) -> None:
    """Let stopped processes go on, if they are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def children(pid: int) -> dict[int, str]:
    """Return the command lines of all processes below one, by process id."""
    below: dict[int, str] = {}
    parents = {int(path.name): _parent(path) for path in _processes()}
    level = {pid}
    while level:
        level = {child for child, parent in parents.items() if parent in level}
        below |= {child: _read(Path(f"/proc/{child}/cmdline")).decode() for child in level}
    return {child: line.replace("\0", " ") for child, line in below.items()}


def gone_within(pid: int, seconds: float) -> bool:
    """Return whether a process ends within this time."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def _parent(path: Path) -> int:
    text = _read(path / "stat").decode(errors="replace")
    # The name, in parentheses, may hold blanks.
    fields = text.rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def command_lines() -> bytes:
    """Return the arguments of every process but this one."""
    return b"\n".join(_read(path / "cmdline") for path in _processes())


def _processes() -> Iterator[Path]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            yield path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it has ended, or is somebody else's
