"""How soon `pulumi up` is back when a host fails and when it is interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from rehearsal.bench.clouds import GUIDE, stack_file, tell_trainer, temporary_home
from rehearsal.bench.commands import BenchError, Command, started
from rehearsal.bench.events import Events, first_exit, running_pods
from rehearsal.bench.processes import processor_seconds, providers
from rehearsal.cli import Stack

_HOSTS = 8
_RUN = {"steps": 400, "max_restarts": 0}
_MESSAGE = "the pump of host 5 stands still"
_FAULT = {"kind": "exit", "exit_code": 1, "at_step": 50, "host": 5, "message": _MESSAGE}
# What the provider says when it follows a JobSet that an earlier command has left.
_ATTACHED = "attached to JobSet"
_GOES_ON = "the next `pulumi up` attaches to it"
_COMMAND_SECONDS = 300
_CPU_SECONDS = 10

Found = Iterator[tuple[str, float]]


def failures(runs: int) -> Found:
    """Yield the time from the failed container's event to the end of the command that tells it."""
    with _deployment() as (stack, file, events):
        tell_trainer(stack, seconds_per_step=0.001, faults={"sft": _FAULT})
        for _ in range(runs):
            began = time.monotonic()
            with _up(stack, file) as command:
                code = command.wait(_COMMAND_SECONDS)
                ended = time.monotonic()
                if not code or _MESSAGE not in command.text:
                    raise command.failure("did not fail with the injected reason")
            exited = first_exit(events.all, began)
            if exited is None:
                raise BenchError("no event told of the failed container")
            yield "failure", ended - exited


def interrupts(runs: int) -> Found:
    """Yield the time from SIGINT to the command's end, and what watching a stage costs before."""
    with _deployment() as (stack, file, events):
        tell_trainer(stack, seconds_per_step=1, faults={})
        with _up(stack, file) as command:
            command.until(lambda: running_pods(events.all) == _HOSTS, _COMMAND_SECONDS)
            for _ in range(runs):
                yield "provider-cpu", _provider_share(stack, command)
            yield "interrupt", _interrupt(command)
        for _ in range(runs - 1):
            with _up(stack, file) as command:
                command.until(lambda: _ATTACHED in command.text, _COMMAND_SECONDS)
                yield "interrupt", _interrupt(command)


def _interrupt(command: Command) -> float:
    sent = time.monotonic()
    os.kill(command.process.pid, signal.SIGINT)
    command.wait(_COMMAND_SECONDS)
    took = time.monotonic() - sent
    if _GOES_ON not in command.text:
        raise command.failure("did not say that the JobSet goes on")
    return took


def _provider_share(stack: Stack, command: Command) -> float:
    """Return the part of a core, in per cent, that the provider uses for some seconds."""
    pids = providers(stack.home)
    began, before = time.monotonic(), sum(map(processor_seconds, pids))
    with contextlib.suppress(subprocess.TimeoutExpired):
        command.process.wait(_CPU_SECONDS)
    used = sum(map(processor_seconds, pids)) - before
    if not pids or command.process.poll() is not None:
        raise command.failure("was to be watched at work")
    return 100 * used / (time.monotonic() - began)


@contextlib.contextmanager
def _deployment() -> Iterator[tuple[Stack, Path, Events]]:
    with temporary_home() as home:
        stack, events = Stack(GUIDE, home), Events(home)
        stack.ensure()
        with events.following():
            yield stack, stack_file(home, **_RUN), events


@contextlib.contextmanager
def _up(stack: Stack, file: Path) -> Iterator[Command]:
    command = stack.command("up", "--yes", "--skip-preview", "--config-file", str(file))
    output = stack.home.parent / "up.txt"
    with started(command, stack.environment(), stack.program, output) as running:
        yield running
