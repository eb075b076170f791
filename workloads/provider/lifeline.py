"""End the provider when the engine that started it is gone, however it went.

A killed CLI leaves its plugins behind; one that goes on watching would also go on writing records.
"""

import asyncio
import os
import socket
from collections.abc import Callable

_POLL_SECONDS = 0.5
_CONNECT_SECONDS = 1.0
_TERMINAL_SECONDS = 1.0
_LINES_SECONDS = 30.0


async def parent_lost(parent: int) -> None:
    """Return when the process `parent`, which started this one, has ended."""
    try:
        # Readable once the process has ended (Linux 5.3). Where it does not exist we have to ask.
        descriptor = os.pidfd_open(parent)
    except (AttributeError, OSError):
        while os.getppid() == parent:
            await asyncio.sleep(_POLL_SECONDS)
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def listens(address: str) -> bool:
    """Whether somebody listens at `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS):
            return True
    except OSError:
        return False


def live_interval_seconds(parent: int, read_link: Callable[[str], str] = os.readlink) -> float:
    """Return how often live lines may be shown: the engine says nothing about its terminal.

    The standard output of the CLI that started us tells. Where that cannot be seen (no /proc),
    lines are kept rare: a log with a line a second is worse than a display that is slow.
    """
    try:
        target = read_link(f"/proc/{parent}/fd/1")
    except OSError:
        return _LINES_SECONDS
    return _TERMINAL_SECONDS if target.startswith(("/dev/pts/", "/dev/tty")) else _LINES_SECONDS
