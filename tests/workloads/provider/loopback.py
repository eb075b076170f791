"""What the fake servers have in common: HTTP on loopback, silent, with clients that may vanish."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class LoopbackHandler(BaseHTTPRequestHandler):
    """A connection that is kept alive and whose loss is no event."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle_one_request(self) -> None:
        # A follower that is stopped resets its connection, in the middle of an answer too.
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True


def serve(handler: type[LoopbackHandler]) -> ThreadingHTTPServer:
    """Return a server that runs in a thread of its own, on a port of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server
