"""Commands that are measured: each in a process group of its own, which never outlives us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_WATCH_SECONDS = 0.05
_END_SECONDS = 30
_LAST_LINES = 20
# Of an outer `make bench`, or of a shell that `make env` has prepared.
_NOT_INHERITED = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "STACK", "KEEP", "REHEARSAL_HOME"}


class BenchError(Exception):
    """What was to be measured did not work; the text says what and shows its last words."""


def plain_environment() -> dict[str, str]:
    """Return the environment of a person who has just opened a shell."""
    return {
        key: value
        for key, value in os.environ.items()
        if key not in _NOT_INHERITED and not key.startswith("PULUMI_")
    }


class Command:
    """A running command whose output goes to a file."""

    def __init__(self, process: subprocess.Popen[bytes], name: str, output: Path) -> None:
        self.process, self._name, self._output = process, name, output

    @property
    def text(self) -> str:
        """What it has printed so far."""
        return self._output.read_text(errors="replace")

    def until(self, condition: Callable[[], bool], seconds: float) -> None:
        """Return when a condition holds.

        Raises:
            BenchError: if the command ends before, or the time is over.
        """
        end = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None or time.monotonic() > end:
                raise self.failure("did not come as far as was to be measured")
            # Nothing tells of a new line in a file.
            time.sleep(_WATCH_SECONDS)

    def wait(self, seconds: float) -> int:
        """Return the exit code; raises BenchError when the time is over."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise self.failure(f"did not end within {seconds:.0f} s") from None

    def failure(self, what: str) -> BenchError:
        """Return the error that says what is wrong and shows the last lines."""
        last = "\n".join(self.text.splitlines()[-_LAST_LINES:])
        return BenchError(f"`{self._name}` {what}; its last lines:\n{last}")


@contextlib.contextmanager
def started(
    command: list[str], environment: Mapping[str, str], folder: Path, output: Path
) -> Iterator[Command]:
    """Run a command while the body of the `with` goes on; afterwards it has ended."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        yield Command(process, " ".join(command), output)
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a command as Ctrl-C would, so that it takes away what it has made; then by force."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)


def timed(
    command: list[str],
    environment: Mapping[str, str],
    folder: Path,
    output: Path,
    seconds: float = 1800,
) -> float:
    """Run a command to its end and return the seconds it took as a whole process.

    Raises:
        BenchError: if it fails or takes longer than `seconds`.
    """
    began = time.monotonic()
    with started(command, environment, folder, output) as running:
        code = running.wait(seconds)
        took = time.monotonic() - began
        if code:
            raise running.failure(f"failed with exit code {code}")
    return took
