"""The daemon's HTTP API: one POST per operation, on loopback, behind the home's token."""

from __future__ import annotations

import hmac
import json
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rehearsal.cloud.activity import Activity
from rehearsal.cloud.daemon import Daemon
from rehearsal.cloud.model import CloudError


class CloudServer(ThreadingHTTPServer):
    """Serves one daemon's operations."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, daemon: Daemon, activity: Activity, token: str) -> None:
        super().__init__(("127.0.0.1", daemon.ports["cloud"]), _Handler)
        self.cloud = daemon
        self.activity = activity
        self.token = token


class _Handler(BaseHTTPRequestHandler):
    server: CloudServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer `{"result": ...}` or `{"error": {"code", "message"}}`."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode()):
            self._answer(401, _error("UNAUTHENTICATED", "the token of this home is missing"))
            return
        with self.server.activity.request() as accepted:
            if accepted:
                self._answer(200, self._run(body))
            else:
                self._answer(503, _error("UNAVAILABLE", "the local cloud is ending"))

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the log to what fails."""

    def _run(self, body: bytes) -> dict[str, Any]:
        try:
            arguments = json.loads(body or b"{}")
            return {"result": self.server.cloud.call(self.path.strip("/"), arguments)}
        except CloudError as error:
            return _error(error.code, error.message)
        except Exception as error:
            traceback.print_exc()
            return _error("INTERNAL", f"{type(error).__name__}: {error}")

    def _answer(self, status: int, answer: dict[str, Any]) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}
