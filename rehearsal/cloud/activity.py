"""When the daemon may end: nobody asks for anything and there is no cluster left."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator


class Activity:
    """Counts requests in progress, and waits for the end of the daemon's work."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._changed = threading.Condition()
        self._requests = 0
        self._holders = 0
        self._last = time.monotonic()
        self._stopping = False

    @contextlib.contextmanager
    def request(self) -> Iterator[bool]:
        """Count a request while it is served; yields False when the daemon is ending."""
        with self._changed:
            accepted = not self._stopping
            self._requests += accepted
        try:
            yield accepted
        finally:
            with self._changed:
                self._requests -= accepted
                self._touch()

    def hold(self, count: int) -> None:
        """Say how many clusters there are: the daemon stays while there is one."""
        with self._changed:
            self._holders = count
            self._touch()

    def stop(self) -> None:
        """End the wait, and refuse every request from now on."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def wait(self) -> None:
        """Return when told to stop or idle for the set time."""
        with self._changed:
            self._touch()  # the start of the services is no idleness
            while not self._stopping:
                if self._requests or self._holders:
                    self._changed.wait()
                    continue
                remaining = self._last + self._idle_seconds - time.monotonic()
                if remaining <= 0:
                    self._stopping = True
                else:
                    self._changed.wait(remaining)

    def _touch(self) -> None:
        self._last = time.monotonic()
        self._changed.notify_all()
