"""One `pulumi` command in a process of its own, which a test can watch, interrupt and kill."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable

from rehearsal.cli import Stack
from tests.rehearsal.engine.outcome import Outcome, read_events
from tests.rehearsal.engine.processes import children, gone_within

COMMAND_SECONDS = 240
WATCH_SECONDS = 0.05
_WITH_EVENTS = ("up", "destroy", "refresh", "preview")


class Command:
    """A running command; its output and event log go to numbered files of the home."""

    def __init__(
        self, stack: Stack, number: int, arguments: tuple[str, ...], stdin: str, path: str
    ) -> None:
        self._text = stack.home / f"command-{number}.txt"
        self._events = stack.home / f"events-{number}.json"
        log = ["--event-log", str(self._events)] if arguments[0] in _WITH_EVENTS else []
        # The flag `--event-log` is among the commands for debugging.
        environment = {**stack.environment(), "PULUMI_DEBUG_COMMANDS": "true"}
        self._began = time.monotonic()
        with self._text.open("wb") as text:
            self.process = subprocess.Popen(
                [*stack.command(*arguments), *log],
                cwd=stack.program,
                env={**environment, "PATH": path or environment["PATH"]},
                stdin=subprocess.PIPE,
                stdout=text,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert self.process.stdin is not None
        self.process.stdin.write(stdin.encode())
        self.process.stdin.close()

    def wait(self) -> Outcome:
        """Return how the command ended."""
        code = self.process.wait(COMMAND_SECONDS)
        ended = time.time()
        seconds = time.monotonic() - self._began
        return Outcome(code, self.text(), seconds, ended, read_events(self._events))

    def text(self) -> str:
        """Return what it has printed so far."""
        return self._text.read_text()

    def until(self, condition: Callable[[], bool]) -> None:
        """Return when a condition holds; fail when the command ends before."""
        end = time.monotonic() + COMMAND_SECONDS
        while not condition():
            assert self.process.poll() is None, f"it ended before:\n{self.text()}"
            assert time.monotonic() < end, f"not within {COMMAND_SECONDS} s:\n{self.text()}"
            # Nothing tells of a new line in a file or of a new process.
            time.sleep(WATCH_SECONDS)

    def says(self, text: str) -> None:
        """Return when the command has printed a text."""
        self.until(lambda: text in self.text())

    def interrupt(self) -> Outcome:
        """Send what Ctrl-C sends to the command line; return how it ended, timed from here."""
        sent = time.monotonic()
        os.kill(self.process.pid, signal.SIGINT)
        outcome = self.wait()
        return Outcome(
            outcome.code, outcome.text, time.monotonic() - sent, outcome.ended, outcome.events
        )

    def kill(self) -> None:
        """Kill the command line with SIGKILL."""
        self.process.kill()
        self.process.wait()

    def plugin(self, module: str) -> int:
        """Return the process id of the plugin that runs a Python module."""
        found = [pid for pid, line in children(self.process.pid).items() if module in line]
        assert len(found) == 1, children(self.process.pid)
        return found[0]

    def end(self) -> None:
        """Kill the command if it still runs, and wait until its plugins have followed it."""
        below = list(children(self.process.pid)) if self.process.poll() is None else []
        if self.process.poll() is None:
            self.kill()
        for pid in below:
            gone_within(pid, 10)
