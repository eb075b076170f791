"""The bucket through Google's own client: patience with fresh grants, and clear ends."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from workloads.provider.objects import (
    GoogleObjectStore,
    ObjectStoreError,
    PreconditionError,
    split_url,
)

DENIED = "trainer@p.iam.gserviceaccount.com does not have storage.objects.list access"


class Bucket:
    """The few calls of the JSON API that the provider makes, on loopback."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, int]] = {}
        self.forbidden = 0
        self.paths: list[str] = []
        self.lose_answer = False
        bucket = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                bucket.get(self)

            def do_POST(self) -> None:
                bucket.post(self)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def get(self, handler: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(handler.path).path)
        self.paths.append(path)
        if self.forbidden > 0:
            self.forbidden -= 1
            self.answer(handler, 403, {"error": {"code": 403, "message": DENIED}})
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


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    found = Bucket()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{found.http.server_port}")
    yield found
    found.http.shutdown()
    found.http.server_close()


def test_a_fresh_grant_is_waited_for(bucket: Bucket) -> None:
    """A18; and A17: only objects are asked for, never the bucket itself."""
    said: list[str] = []
    bucket.objects["a"] = (b"12345", 7)
    bucket.forbidden = 1
    [found] = GoogleObjectStore("bucket", say=said.append).list("")
    assert (found.name, found.size, found.generation) == ("a", 5, 7)
    assert len(said) == 1, bucket.paths
    assert set(bucket.paths) == {"/storage/v1/b/bucket/o"}


def test_a_grant_that_never_comes_is_named_with_identity_bucket_and_permission(
    bucket: Bucket,
) -> None:
    bucket.forbidden = 1000
    text = "trainer@p.iam.*gs://bucket/.*storage.objects.list"
    began = time.monotonic()
    with pytest.raises(ObjectStoreError, match=text):
        list(GoogleObjectStore("bucket", patience_seconds=0.6).list(""))
    assert time.monotonic() - began < 5


def test_waiting_for_a_grant_can_be_interrupted(bucket: Bucket) -> None:
    bucket.forbidden = 1000
    stop = threading.Event()
    stop.set()
    with pytest.raises(ObjectStoreError, match="interrupted"):
        list(GoogleObjectStore("bucket", stop=stop).list(""))


def test_a_write_needs_the_generation_that_was_read(bucket: Bucket) -> None:
    store = GoogleObjectStore("bucket")
    assert store.write("r", b"{}", 0) == 1
    assert store.write("r", b"{1}", 1) == 2
    with pytest.raises(PreconditionError):
        store.write("r", b"{2}", 1)
    assert store.read("r") == b"{1}"
    assert store.stat("missing") is None
    assert store.read("missing") is None


def test_a_write_whose_answer_got_lost_is_not_taken_for_somebody_elses(bucket: Bucket) -> None:
    bucket.lose_answer = True
    assert GoogleObjectStore("bucket").write("r", b"{}", 0) == 1


@pytest.mark.parametrize("url", ["gs://b", "gs://b/a", "s3://b/a/", "gs:///a/", "b/a/", "gs://b//"])
def test_a_folder_without_its_closing_slash_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="gs://bucket/folder/"):
        split_url(url)
    assert split_url("gs://my-bucket/a/b/") == ("my-bucket", "a/b/")
