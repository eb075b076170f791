"""Follow objects of the API server without polling: list once, then watch from that version.

A watch ends for many harmless reasons. It goes on from the last version seen; when the server no
longer has that version (410) it lists again. While the server is away it tries at growing
intervals, says so once, and gives up after a limit.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from time import monotonic
from typing import Any

from workloads.provider.connection import ClusterError, Connection, Stream

# The server ends a watch after this; a bookmark comes about once a minute, so longer silence than
# the second figure means a dead connection.
_WATCH_SECONDS = 240
_SILENCE_SECONDS = 90.0
_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 15.0
_GIVE_UP_SECONDS = 15 * 60.0
_PAGE = 500


@dataclass(frozen=True)
class Changed:
    """An object is there or has changed."""

    kind: str
    item: Mapping[str, Any]


@dataclass(frozen=True)
class Gone:
    """An object is gone; found either by its deletion or by its absence from a new list."""

    kind: str
    uid: str


@dataclass(frozen=True)
class Listed:
    """A complete list has been delivered: what was not in it does not exist."""

    kind: str


@dataclass(frozen=True)
class Outage:
    """The API server cannot be followed (`over`: it can again); told once per outage."""

    text: str
    over: bool = False


@dataclass(frozen=True)
class Lost:
    """Following was given up."""

    text: str


@dataclass(frozen=True)
class LogLine:
    """One line of the followed pod's log."""

    pod: str
    text: str


@dataclass(frozen=True)
class LogEnded:
    """The followed pod's log is complete."""

    pod: str


@dataclass(frozen=True)
class Interrupted:
    """The user asked to stop."""


Notice = Changed | Gone | Listed | Outage | Lost | LogLine | LogEnded | Interrupted


class Inbox:
    """Where all that is followed for one stage arrives; reading it is the only waiting there is."""

    def __init__(self) -> None:
        """Start empty."""
        self._queue: Queue[Notice] = Queue()

    def put(self, notice: Notice) -> None:
        """Deliver a notice, from any thread."""
        self._queue.put(notice)

    def next(self, seconds: float) -> Notice | None:
        """Return the next notice, or None when none came within `seconds`."""
        try:
            return self._queue.get(timeout=max(seconds, 0.001))
        except Empty:
            return None


class Follower:
    """Follows one collection in a thread of its own and delivers what changes to an inbox."""

    def __init__(
        self,
        connection: Connection,
        kind: str,
        path: str,
        selector: Mapping[str, str],
        deliver: Callable[[Notice], None],
        *,
        give_up_seconds: float = _GIVE_UP_SECONDS,
    ) -> None:
        """Follow the objects at `path` that fit the selector (fieldSelector or labelSelector)."""
        self._connection = connection
        self._kind = kind
        self._path = path
        self._selector = dict(selector)
        self._deliver = deliver
        self._give_up_seconds = give_up_seconds
        self._stopped = Event()
        self._stream: Stream | None = None
        self._known: set[str] = set()
        self._version = ""
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._progressed = False
        self._outage_began: float | None = None
        # A daemon: it may sit in a read when the process has to end.
        self._thread = Thread(target=self._run, name=f"follow-{kind}", daemon=True)

    def start(self) -> "Follower":
        """Begin to follow."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop following; returns at once."""
        self._stopped.set()
        if self._stream is not None:
            self._stream.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            wait_seconds = 0.0
            try:
                if not self._version:
                    self._list()
                self._watch()
            except ClusterError as error:
                if self._stopped.is_set() or not self._try_again(error):
                    return
                wait_seconds = error.retry_after_seconds or 0.0
            if not self._progressed:
                # Jitter, so that many clients of a restarted server do not come at once.
                wait_seconds = max(wait_seconds, self._pause_seconds * random.uniform(0.8, 1.2))
                self._pause_seconds = min(self._pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
            self._stopped.wait(min(wait_seconds, 2 * _LONGEST_PAUSE_SECONDS))

    def _try_again(self, error: ClusterError) -> bool:
        if error.status == 410:
            self._version = ""  # the server no longer has it: list again
            return True
        if self._outage_began is None:
            self._outage_began = monotonic()
            self._deliver(Outage(f"{error}; the JobSet goes on, trying again"))
        if monotonic() - self._outage_began > self._give_up_seconds:
            self._deliver(Lost(f"{error}, for {self._give_up_seconds / 60:.0f} minutes"))
            return False
        return True

    def _opened(self) -> None:
        if self._outage_began is not None:
            self._deliver(Outage("the API server answers again", over=True))
        self._outage_began = None

    def _list(self) -> None:
        seen: set[str] = set()
        query = {**self._selector, "limit": str(_PAGE)}
        while True:
            page = self._connection.request("GET", self._path, query=query)
            for item in page.get("items", []):
                seen.add(item["metadata"]["uid"])
                self._deliver(Changed(self._kind, item))
            metadata = page.get("metadata", {})
            if not metadata.get("continue"):
                break
            query["continue"] = metadata["continue"]
        for uid in self._known - seen:
            self._deliver(Gone(self._kind, uid))
        self._known = seen
        self._version = metadata.get("resourceVersion", "")
        self._deliver(Listed(self._kind))

    def _watch(self) -> None:
        query = {
            **self._selector,
            "watch": "true",
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        self._progressed = False
        self._stream = self._connection.stream(self._path, query, silence_seconds=_SILENCE_SECONDS)
        self._opened()
        lines = self._stream.lines()
        try:
            while not self._stopped.is_set():
                try:
                    line = next(lines)
                except (StopIteration, ClusterError):
                    # The server closes every watch after a while, and connections get lost: open
                    # it again from the last version. If that fails, it is an outage.
                    return
                self._take(line)
                self._progressed, self._pause_seconds = True, _FIRST_PAUSE_SECONDS
        finally:
            self._stream.close()

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            kind, item = event["type"], event["object"]
        except (ValueError, KeyError, TypeError):
            raise ClusterError("the watch delivered something that is no event") from None
        if kind == "ERROR":
            raise ClusterError(item.get("message", "the watch failed"), item.get("code"))
        metadata = item.get("metadata", {})
        self._version = metadata.get("resourceVersion", self._version)
        if kind in ("ADDED", "MODIFIED"):
            self._known.add(metadata["uid"])
            self._deliver(Changed(self._kind, item))
        elif kind == "DELETED":
            self._known.discard(metadata["uid"])
            # The last state comes along: how a pod ended is often only in here.
            self._deliver(Changed(self._kind, item))
            self._deliver(Gone(self._kind, metadata["uid"]))
