"""Follow one pod's log over lost connections, without gaps and without repeating a line."""

import re
from collections.abc import Callable
from threading import Event, Thread

from workloads.provider.connection import ClusterError, Connection, Stream
from workloads.provider.watch import LogEnded, LogLine, Notice

_SILENCE_SECONDS = 300.0
_PAUSE_SECONDS = 1.0
_LINE_LIMIT = 4096
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")


class LogCursor:
    """Remembers the last line taken, by its time stamp and its number among equals."""

    def __init__(self) -> None:
        """Start before the first line."""
        self._last = ""
        self._equals = 0
        self._skip = 0

    @property
    def since(self) -> str:
        """The whole second to ask the server from, or nothing for the beginning."""
        return self._last[:19] + "Z" if self._last else ""

    def reopened(self) -> None:
        """Note that the server will now repeat lines from `since` on."""
        self._skip = self._equals

    def take(self, line: str) -> str | None:
        """Return the text of a line that is new, None for one already taken.

        A line begins with its RFC 3339 time stamp and a blank, as the API server writes it with
        `timestamps=true`.
        """
        stamp, _, text = line.partition(" ")
        if not _STAMP.fullmatch(stamp):
            return line  # not the container's: the server itself says why there is no log
        stamp = _padded(stamp)
        if stamp < self._last:
            return None
        if stamp == self._last:
            if self._skip > 0:
                self._skip -= 1
                return None
            self._equals += 1
            return text
        self._last, self._equals, self._skip = stamp, 1, 0
        return text


class LogFollower:
    """Follows the log of one container in a thread of its own."""

    def __init__(
        self,
        connection: Connection,
        namespace: str,
        pod: str,
        container: str,
        deliver: Callable[[Notice], None],
    ) -> None:
        """Follow `container` of `pod`, from the log's beginning."""
        self._connection = connection
        self._path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        self.pod = pod
        self._container = container
        self._deliver = deliver
        self._cursor = LogCursor()
        self._stopped = Event()
        self._finished = Event()
        self._stream: Stream | None = None
        self._thread = Thread(target=self._run, name=f"log-{pod}", daemon=True)

    def start(self) -> "LogFollower":
        """Begin to follow."""
        self._thread.start()
        return self

    def finish(self) -> None:
        """Tell that the container has ended: the next end of the stream is the log's end."""
        self._finished.set()

    def stop(self) -> None:
        """Stop following; returns at once."""
        self._stopped.set()
        if self._stream is not None:
            self._stream.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            ended = self._finished.is_set()
            try:
                self._read()
            except ClusterError as error:
                # The watch tells about outages; a log that is gone with its pod is just over.
                if error.status in (400, 403, 404):
                    break
                ended = False
            if ended:
                break
            # The stream ended by itself: the container is done, or the connection was cut.
            if self._finished.wait(_PAUSE_SECONDS) and self._stopped.is_set():
                break
        self._deliver(LogEnded(self.pod))

    def _read(self) -> None:
        query = {"container": self._container, "follow": "true", "timestamps": "true"}
        if self._cursor.since:
            query["sinceTime"] = self._cursor.since
        self._cursor.reopened()
        self._stream = self._connection.stream(self._path, query, silence_seconds=_SILENCE_SECONDS)
        try:
            for line in self._stream.lines():
                if self._stopped.is_set():
                    return
                text = self._cursor.take(line[:_LINE_LIMIT].decode("utf-8", "replace"))
                if text is not None:
                    self._deliver(LogLine(self.pod, text))
        finally:
            self._stream.close()


def _padded(stamp: str) -> str:
    # RFC3339Nano drops trailing zeros; padded, time stamps sort as text.
    whole, _, fraction = stamp.removesuffix("Z").partition(".")
    return f"{whole}.{fraction:0<9}"
