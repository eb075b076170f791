"""A bucket of Google Cloud Storage on loopback, with the answers that are hard to get."""

import json
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.workloads.provider.loopback import LoopbackHandler, serve

CALLER = "trainer@p.iam.gserviceaccount.com"
DENIED = f"{CALLER} does not have storage.objects.list access"


class FakeBucket:
    """The few calls of the JSON API that the provider makes, for the bucket `bucket`."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, int]] = {}
        self.exists = True
        self.forbidden = 0
        self.paths: list[str] = []
        self.lose_answer = False
        bucket = self

        class Handler(LoopbackHandler):
            def do_GET(self) -> None:  # noqa: N802 - named by http.server
                bucket.get(self)

            def do_POST(self) -> None:  # noqa: N802 - named by http.server
                bucket.post(self)

        self.http = serve(Handler)

    @property
    def url(self) -> str:
        """What STORAGE_EMULATOR_HOST has to be."""
        return f"http://127.0.0.1:{self.http.server_port}"

    def close(self) -> None:
        """End the server."""
        self.http.shutdown()
        self.http.server_close()

    def get(self, handler: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(handler.path).path)
        self.paths.append(path)
        if self.forbidden > 0:
            self.forbidden -= 1
            self.answer(handler, 403, {"error": {"code": 403, "message": DENIED}})
        elif not self.exists:
            text = "The specified bucket does not exist."
            self.answer(handler, 404, {"error": {"code": 404, "message": text}})
        elif path == "/storage/v1/b/bucket":
            self.answer(handler, 200, {"name": "bucket"})
        elif path == "/storage/v1/b/bucket/o":
            items = [self.item(name) for name in sorted(self.objects)]
            self.answer(handler, 200, {"items": items})
        else:
            name = path.partition("/o/")[2]
            if name not in self.objects:
                self.answer(handler, 404, {"error": {"code": 404, "message": "No such object"}})
            elif path.startswith("/download/"):
                self.raw(handler, self.objects[name][0])
            else:
                self.answer(handler, 200, self.item(name))

    def post(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        query = urlsplit(handler.path).query
        wanted = int(query.partition("ifGenerationMatch=")[2].partition("&")[0])
        parts = body.split(b"\r\n\r\n")
        name = json.loads(parts[1].partition(b"\r\n")[0])["name"]
        current = self.objects.get(name, (b"", 0))[1]
        if current != wanted:
            self.answer(handler, 412, {"error": {"code": 412, "message": "conditionNotMet"}})
            return
        self.objects[name] = (parts[2].rpartition(b"\r\n--")[0], current + 1)
        if self.lose_answer:
            self.lose_answer = False
            self.answer(handler, 503, {"error": {"code": 503, "message": "try again"}})
            return
        self.answer(handler, 200, self.item(name))

    def item(self, name: str) -> dict[str, Any]:
        content, generation = self.objects[name]
        return {
            "name": name,
            "size": str(len(content)),
            "generation": str(generation),
            "updated": "2026-12-01T10:00:00.500Z",
        }

    def answer(self, handler: BaseHTTPRequestHandler, status: int, body: Any) -> None:
        self.raw(handler, json.dumps(body).encode(), status)

    @staticmethod
    def raw(handler: BaseHTTPRequestHandler, content: bytes, status: int = 200) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
