"""`make demo` from a fresh clone with empty caches: time, first useful line, disk.

Everything it installs, builds and leaves is in one temporary folder, which is removed afterwards.
It needs about 12 minutes, 8 GB and the package registries of Python and Go.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rehearsal.bench.clouds import PREFIX
from rehearsal.bench.commands import BenchError, end, plain_environment
from rehearsal.bench.processes import Sampler, free_bytes, used_bytes
from rehearsal.cloud.client import Cloud
from rehearsal.environment import CHECKOUT
from rehearsal.toolchain import folder as toolchain

FIRST_USEFUL = "plan of stack "
_LOOK_SECONDS = 1
_LAST_LINES = 30

Found = Iterator[tuple[str, float]]


class LeastFree:
    """How much of a file system was used at most since the start, also by others, in GB."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._at_start = self._least = free_bytes(folder)

    def read(self) -> None:
        """Look now."""
        self._least = min(self._least, free_bytes(self._folder))

    @property
    def peak_gb(self) -> float:
        """The most that was used."""
        return (self._at_start - self._least) / 1e9


def cold(runs: int, source: Path = CHECKOUT) -> Found:
    """Yield time, first useful line, peak and rest on disk of each run.

    What is not committed in `source` takes no part.

    Raises:
        BenchError: if the demo fails or never shows its plan.
    """
    for _ in range(runs):
        # Removed also when a part of it has been made read-only, as Go does with modules.
        with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
            yield from _run(source, Path(name).resolve())


def _run(source: Path, folder: Path) -> Found:
    used = LeastFree(folder)
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(source), str(clone)], check=True)
    began = time.monotonic()
    try:
        with Sampler(used.read, _LOOK_SECONDS):
            first_line = _demo(clone, empty_caches(folder), began)
        yield "cold-demo", time.monotonic() - began
    finally:
        Cloud(clone / ".rehearsal").down()
    yield "cold-first-line", first_line
    yield "cold-peak", used.peak_gb
    yield "cold-left", used_bytes(folder) / 1e9


def empty_caches(folder: Path) -> dict[str, str]:
    """Return an environment in which no tool finds what it has downloaded or built before."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    cache = folder / "cache"
    places = {
        "XDG_CACHE_HOME": cache,
        "REHEARSAL_CACHE": cache / "maxtext-sft",
        "PIP_CACHE_DIR": cache / "pip",
        "UV_CACHE_DIR": cache / "uv",
        "GOCACHE": cache / "go-build",
        "GOMODCACHE": cache / "go-modules",
        "GOPATH": cache / "go",
        "MPLCONFIGDIR": cache / "matplotlib",
        "TMPDIR": temporary,
    }
    environment = plain_environment() | {key: str(path) for key, path in places.items()}
    environment.pop(toolchain.OVERRIDE, None)
    return environment


def _demo(clone: Path, environment: dict[str, str], began: float) -> float:
    """Run the demo to its end and return when its first useful line came."""
    first_line: float | None = None
    said: list[str] = []
    process = subprocess.Popen(
        ["make", "demo"], cwd=clone, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.decode(errors="replace"))
            if first_line is None and said[-1].startswith(FIRST_USEFUL):
                first_line = time.monotonic() - began
        process.wait()
    finally:
        end(process)
    if process.returncode or first_line is None:
        last = "".join(said[-_LAST_LINES:])
        raise BenchError(f"`make demo` of {clone} failed; its last lines:\n{last}")
    return first_line
