"""What the kernel tells of processes and folders: memory, processor time, disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PROVIDER = b"workloads.provider"


def providers(home: Path) -> list[int]:
    """Return the process ids of the stage providers whose environment names a home."""
    wanted = f"REHEARSAL_HOME={home}".encode()
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        folder = Path("/proc", name)
        if _PROVIDER in _read(folder / "cmdline").split(b"\0") and wanted in _read(
            folder / "environ"
        ).split(b"\0"):
            found.append(int(name))
    return found


def peak_memory_mib(pid: int) -> float | None:
    """Return the most memory that a process has had so far; None when it is gone."""
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1]) / 1024
    return None


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used; 0 when it is gone."""
    # The command in parentheses may hold anything, also parentheses.
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
    # utime and stime, proc_pid_stat(5)
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND if fields else 0.0


def used_bytes(folder: Path) -> int:
    """Return what a folder takes on disk, each file once; 0 if it is not there."""
    blocks: dict[tuple[int, int], int] = {}
    for parent, _, names in os.walk(folder):
        for name in [".", *names]:
            status = os.lstat(os.path.join(parent, name))
            blocks[status.st_dev, status.st_ino] = status.st_blocks
    return sum(blocks.values()) * 512  # st_blocks counts 512 bytes, stat(2)


def free_bytes(folder: Path) -> int:
    """Return what is free in the file system of a folder, for anybody."""
    system = os.statvfs(folder)
    return system.f_bfree * system.f_frsize


class Sampler:
    """Reads something now and then, in a thread, while the body of the `with` goes on."""

    def __init__(self, read: Callable[[], None], every_seconds: float) -> None:
        """Call `read` at once, then every so often, and once more at the end."""
        self._read, self._every_seconds = read, every_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._read()
            self._ended.wait(self._every_seconds)
        self._read()


class PeakMemory:
    """The most memory that any stage provider of a home has had, in MiB."""

    def __init__(self, home: Path) -> None:
        self.mib = 0.0
        self._home = home

    def read(self) -> None:
        """Look at the providers that run now; the kernel itself keeps the peak of each."""
        for pid in providers(self._home):
            self.mib = max(self.mib, peak_memory_mib(pid) or 0.0)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it has ended, or is somebody else's
