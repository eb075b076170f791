"""The provider's end together with the engine's."""

import asyncio
import socket
import subprocess
import sys
import time

import pytest

from workloads.provider.lifeline import listens, live_interval_seconds, parent_lost


def test_the_end_of_the_parent_is_noticed_at_once() -> None:
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    async def watch() -> float:
        lost = asyncio.ensure_future(parent_lost(parent.pid))
        await asyncio.sleep(0.05)
        assert not lost.done()
        began = time.monotonic()
        parent.kill()
        await asyncio.wait_for(lost, 2)
        return time.monotonic() - began

    try:
        assert asyncio.run(watch()) < 1
    finally:
        parent.kill()
        parent.communicate()


def test_an_engine_that_listens_is_told_from_one_that_is_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert listens(address)
    assert not listens(address)


@pytest.mark.parametrize(
    ("target", "seconds"),
    [("/dev/pts/3", 1), ("/dev/tty1", 1), ("pipe:[1]", 30), ("/tmp/log", 30), (None, 30)],
)
def test_live_lines_are_rare_without_a_terminal(target: str | None, seconds: float) -> None:
    def read_link(path: str) -> str:
        assert path == "/proc/7/fd/1"
        if target is None:
            raise FileNotFoundError(path)
        return target

    assert live_interval_seconds(7, read_link) == seconds
