"""The part of the Hugging Face Hub that the three stages ask for, served from folders.

`<root>/models/<owner>/<name>/` and `<root>/datasets/<owner>/<name>/` are repositories. Names match
in any case, as on the Hub. Paths, headers and error codes are those of huggingface_hub 1.26 and
datasets 5.0 (huggingface_hub/utils/_http.py reads `X-Error-Code`).
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from rehearsal import tinymodel
from rehearsal.hub_repository import REVISION, Gates, Refusal, Repository, find_repository

_CHUNK_BYTES = 1 << 20
_REPOSITORY = r"(?P<kind>models|datasets)/(?P<name>[^/]+/[^/]+)"
_INFO = re.compile(rf"/api/{_REPOSITORY}(?:/revision/(?P<revision>[^/]+))?")
_TREE = re.compile(rf"/api/{_REPOSITORY}/tree/(?P<revision>[^/]+)(?:/(?P<path>.*))?")
_PATHS = re.compile(rf"/api/{_REPOSITORY}/paths-info/(?P<revision>[^/]+)")
_FILE = re.compile(
    r"/(?:(?P<kind>datasets)/)?(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)"
)


def commands(home: Path, ports: dict[str, int]) -> dict[str, list[str]]:
    """Return the command line of the Hub, by name."""
    command = [sys.executable, "-m", "rehearsal.hub", "--port", str(ports["hub"])]
    command += ["--root", str(tinymodel.folder()), "--gates", str(home / "hub.json")]
    return {"hub": command}


def ready_urls(ports: dict[str, int]) -> dict[str, str]:
    """Return the URL that answers 200 as soon as the Hub serves."""
    return {"hub": f"http://127.0.0.1:{ports['hub']}/ready"}


class _Handler(BaseHTTPRequestHandler):
    """One request to the Hub."""

    protocol_version = "HTTP/1.1"
    server: "Hub"

    def do_GET(self) -> None:
        """Answer what the Hub answers to GET and HEAD."""
        self._route({_INFO: self._info, _TREE: self._tree, _FILE: self._file})

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Answer the question for the size and kind of some paths."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self._route({_PATHS: lambda repository, _: self._paths(repository, body)})

    def _route(
        self, routes: dict[re.Pattern[str], Callable[[Repository, dict[str, str]], None]]
    ) -> None:
        path = unquote(urlsplit(self.path).path)
        if path == "/ready":
            self._json({"ready": True})
            return
        try:
            for pattern, answer in routes.items():
                if match := pattern.fullmatch(path):
                    answer(self._repository(match), match.groupdict(default=""))
                    return
            raise Refusal(HTTPStatus.NOT_FOUND, None, f"{path} is not served here")
        except Refusal as refusal:
            headers = {"X-Error-Message": refusal.message}
            if refusal.code:
                headers["X-Error-Code"] = refusal.code
            self._json({"error": refusal.message}, refusal.status, headers)

    def _repository(self, match: re.Match[str]) -> Repository:
        repository = find_repository(
            self.server.root, match.group("kind") or "models", match.group("name")
        )
        scheme, _, token = (self.headers.get("Authorization") or "").partition(" ")
        self.server.gates.check(repository, token if scheme.lower() == "bearer" else "")
        return repository

    def _info(self, repository: Repository, _: dict[str, str]) -> None:
        self._json(repository.info())

    def _tree(self, repository: Repository, found: dict[str, str]) -> None:
        query = parse_qs(urlsplit(self.path).query)
        recursive = query.get("recursive", ["false"])[0].lower() in ("true", "1")
        self._json(repository.tree(found["path"].strip("/"), recursive=recursive))

    def _paths(self, repository: Repository, body: str) -> None:
        if "json" in (self.headers.get("Content-Type") or ""):
            paths = json.loads(body)["paths"]
        else:
            paths = parse_qs(body).get("paths", [])
        self._json(repository.entries(paths))

    def _file(self, repository: Repository, found: dict[str, str]) -> None:
        path = repository.file(found["path"])
        size = path.stat().st_size
        first, last = self._range(size)
        self.send_response(HTTPStatus.PARTIAL_CONTENT if self._wants_range() else HTTPStatus.OK)
        if self._wants_range():
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("ETag", f'"{repository.object_id(path)}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        if self.command != "HEAD":
            self._send(path, first, last)

    def _wants_range(self) -> bool:
        return (self.headers.get("Range") or "").startswith("bytes=")

    def _range(self, size: int) -> tuple[int, int]:
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "bytes=0-")
        first, last = wanted.groups() if wanted else ("0", "")
        if not first:
            return max(size - int(last or 0), 0), size - 1
        return int(first), min(int(last) if last else size - 1, size - 1)

    def _send(self, path: Path, first: int, last: int) -> None:
        left = last - first + 1
        with path.open("rb") as file:
            file.seek(first)
            while left > 0 and (data := file.read(min(_CHUNK_BYTES, left))):
                self.wfile.write(data)
                left -= len(data)

    def _json(
        self, document: Any, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None
    ) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write method, path and status to the log; never a header, which may hold a token."""
        sys.stderr.write(f"{self.command} {self.path} {args[1] if len(args) > 1 else ''}\n")


class Hub(ThreadingHTTPServer):
    """The listening socket and the folders behind it."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, root: Path, gates: Path | None = None) -> None:
        self.root = root
        self.gates = Gates(gates)
        super().__init__(("127.0.0.1", port), _Handler)


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--root", type=Path, required=True, help="folder of the repositories")
    parser.add_argument("--gates", type=Path, help="JSON file of repositories that ask for a token")
    options = parser.parse_args()
    with Hub(options.port, options.root, options.gates) as hub:
        hub.serve_forever()


if __name__ == "__main__":
    main()
