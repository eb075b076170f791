"""A Kubernetes API server for tests: lists, watches, logs and deletions, with faults on demand."""

import copy
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.workloads.provider.loopback import LoopbackHandler, serve

JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets"
PODS = "/api/v1/namespaces/ns/pods"
NOW = "2026-12-01T10:00:00Z"


class FakeApiServer:
    """Objects by collection path, with one history for all watches."""

    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.objects: dict[str, dict[str, dict[str, Any]]] = {JOBSETS: {}, PODS: {}}
        self.history: list[tuple[int, str, str, dict[str, Any]]] = []
        self.versions = itertools.count(1)
        self.version = 0
        self.oldest = 0
        self.logs: dict[str, list[str]] = {}
        self.ended_logs: set[str] = set()
        self.requests: Counter[str] = Counter()
        self.tokens: list[str] = []
        self.failures: list[tuple[str, int]] = []
        self.drop_generation = 0
        self.on_create: Callable[[dict[str, Any]], None] = lambda _: None
        self.delete_seconds = 0.0
        self.accepted_token: str | None = None
        self.created_at = NOW
        self.finished_at = "2026-12-01T10:05:00Z"
        self.posted: list[dict[str, Any]] = []
        server = self

        class Handler(LoopbackHandler):
            def do_GET(self) -> None:  # noqa: N802 - named by http.server
                server.get(self)

            def do_POST(self) -> None:  # noqa: N802 - named by http.server
                server.post(self)

            def do_DELETE(self) -> None:  # noqa: N802 - named by http.server
                server.delete(self)

        self.stopped = False
        self.http = serve(Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    def kubeconfig(self, user: dict[str, Any] | None = None) -> str:
        return json.dumps(
            {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "clusters": [{"name": "k", "cluster": {"server": self.url}}],
                "users": [{"name": "u", "user": user or {"token": "t0"}}],
            }
        )

    def close(self) -> None:
        with self.lock:
            self.stopped = True
            self.drop_generation += 1
            self.lock.notify_all()
        self.http.shutdown()
        self.http.server_close()

    # What a test does to the cluster.

    def put(self, path: str, item: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            item = copy.deepcopy(item)
            name = item["metadata"]["name"]
            kind = "MODIFIED" if name in self.objects[path] else "ADDED"
            self._record(kind, path, item)
            self.objects[path][name] = item
            return copy.deepcopy(item)

    def remove(self, path: str, name: str) -> None:
        with self.lock:
            item = self.objects[path].pop(name, None)
            if item is not None:
                self._record("DELETED", path, item)

    def drop_connections(self) -> None:
        with self.lock:
            self.drop_generation += 1
            self.lock.notify_all()

    def forget_history(self) -> None:
        with self.lock:
            self.oldest = self.version + 1
            self._record("NONE", "", {"metadata": {}})

    def fail(self, *what: tuple[str, int]) -> None:
        """Answer the next requests that begin with a path with these statuses."""
        self.failures.extend(what)

    def write_log(self, pod: str, *lines: str) -> None:
        with self.lock:
            self.logs.setdefault(pod, []).extend(lines)
            self.lock.notify_all()

    def end_log(self, pod: str) -> None:
        with self.lock:
            self.ended_logs.add(pod)
            self.lock.notify_all()

    def finish(self, name: str, condition: str, reason: str = "Because", message: str = "") -> None:
        with self.lock:
            jobset = copy.deepcopy(self.objects[JOBSETS][name])
        jobset.setdefault("status", {}).setdefault("conditions", []).append(
            {
                "type": condition,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastTransitionTime": self.finished_at,
            }
        )
        self.put(JOBSETS, jobset)

    def _record(self, kind: str, path: str, item: dict[str, Any]) -> None:
        self.version = next(self.versions)
        item["metadata"]["resourceVersion"] = str(self.version)
        self.history.append((self.version, kind, path, copy.deepcopy(item)))
        self.lock.notify_all()

    # What the server answers.

    def get(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        # Before the request is counted: a test may drop connections as soon as it sees the count.
        generation = self.drop_generation
        if self._refused(handler, "GET", parts.path + ("?watch" if "watch" in query else "")):
            return
        if parts.path.endswith("/log"):
            self._log(handler, parts.path.split("/")[-2], query, generation)
        elif parts.path in self.objects and "watch" in query:
            self._watch(handler, parts.path, query, generation)
        elif parts.path in self.objects:
            self._list(handler, parts.path, query)
        else:
            collection, _, name = parts.path.rpartition("/")
            item = self.objects.get(collection, {}).get(name)
            self._answer(handler, 200 if item else 404, item or {"message": f"{name} not found"})

    def post(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        if self._refused(handler, "POST", handler.path):
            return
        name = body["metadata"]["name"]
        if name in self.objects[handler.path]:
            self._answer(handler, 409, {"message": f"{name} already exists"})
            return
        body["metadata"].update(uid=f"uid-{next(self.versions)}", creationTimestamp=self.created_at)
        self.posted.append(copy.deepcopy(body))
        created = self.put(handler.path, body)
        self._answer(handler, 201, created)
        self.on_create(created)

    def delete(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        options = json.loads(handler.rfile.read(length) or b"{}")
        if self._refused(handler, "DELETE", handler.path):
            return
        collection, _, name = handler.path.rpartition("/")
        item = self.objects[collection].get(name)
        wanted = options.get("preconditions", {}).get("uid")
        if item is None or wanted not in (None, item["metadata"]["uid"]):
            self._answer(handler, 404 if item is None else 409, {"message": "not that one"})
            return
        item = copy.deepcopy(item)
        item["metadata"]["deletionTimestamp"] = NOW
        self.put(collection, item)
        self._answer(handler, 200, {})
        threading.Timer(self.delete_seconds, self._tear_down, [collection, name, item]).start()

    def _tear_down(self, collection: str, name: str, item: dict[str, Any]) -> None:
        for pod in list(self.objects[PODS].values()):
            labels = pod["metadata"].get("labels", {})
            if labels.get("jobset.sigs.k8s.io/jobset-uid") == item["metadata"]["uid"]:
                self.remove(PODS, pod["metadata"]["name"])
        self.remove(collection, name)

    def _refused(self, handler: BaseHTTPRequestHandler, method: str, path: str) -> bool:
        with self.lock:
            self.requests[f"{method} {path}"] += 1
            token = (handler.headers.get("Authorization") or "").removeprefix("Bearer ")
            self.tokens.append(token)
            if self.accepted_token is not None and token != self.accepted_token:
                self._answer(handler, 401, {"message": "Unauthorized"})
                return True
            for index, (prefix, status) in enumerate(self.failures):
                if path.startswith(prefix):
                    del self.failures[index]
                    if status == 0:
                        handler.close_connection = True
                        handler.connection.close()
                    else:
                        self._answer(handler, status, {"message": f"scripted {status}"})
                    return True
        return False

    def _list(self, handler: BaseHTTPRequestHandler, path: str, query: dict[str, str]) -> None:
        with self.lock:
            items = [
                copy.deepcopy(item)
                for item in self.objects[path].values()
                if _selected(item, query)
            ]
            start = int(query.get("continue", "0"))
            limit = int(query.get("limit", "500"))
            metadata = {"resourceVersion": str(self.version)}
            if start + limit < len(items):
                metadata["continue"] = str(start + limit)
        self._answer(handler, 200, {"items": items[start : start + limit], "metadata": metadata})

    def _watch(
        self, handler: BaseHTTPRequestHandler, path: str, query: dict[str, str], generation: int
    ) -> None:
        version = int(query["resourceVersion"])
        self._begin(handler)
        if version < self.oldest:
            gone = {"code": 410, "message": "too old resource version"}
            self._chunk(handler, {"type": "ERROR", "object": gone})
            self._end(handler)
            return
        while True:
            with self.lock:
                news = [entry for entry in self.history if entry[0] > version]
                while not news and generation == self.drop_generation:
                    self.lock.wait(0.5)
                    news = [entry for entry in self.history if entry[0] > version]
                dropped = generation != self.drop_generation
            if dropped:
                handler.close_connection = True
                handler.connection.close()
                return
            for number, kind, where, item in news:
                version = number
                if where == path and _selected(item, query):
                    try:
                        self._chunk(handler, {"type": kind, "object": item})
                    except OSError:
                        return

    def _log(
        self, handler: BaseHTTPRequestHandler, pod: str, query: dict[str, str], generation: int
    ) -> None:
        if pod not in self.logs:
            self._answer(handler, 404, {"message": "no such pod"})
            return
        self._begin(handler)
        position = 0
        since = query.get("sinceTime", "")
        while True:
            with self.lock:
                while (
                    position >= len(self.logs[pod])
                    and pod not in self.ended_logs
                    and generation == self.drop_generation
                ):
                    self.lock.wait(0.5)
                lines = self.logs[pod][position:]
                position += len(lines)
                dropped = generation != self.drop_generation
                ended = pod in self.ended_logs
            text = "".join(f"{line}\n" for line in lines if line[:19] + "Z" >= since)
            try:
                if text:
                    self._raw_chunk(handler, text.encode("utf-8", "surrogateescape"))
                if dropped:
                    handler.close_connection = True
                    handler.connection.close()
                    return
                if ended and position >= len(self.logs[pod]):
                    self._end(handler)
                    return
            except OSError:
                return

    @staticmethod
    def _answer(handler: BaseHTTPRequestHandler, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    @staticmethod
    def _begin(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()

    def _chunk(self, handler: BaseHTTPRequestHandler, event: Any) -> None:
        self._raw_chunk(handler, json.dumps(event).encode() + b"\n")

    @staticmethod
    def _raw_chunk(handler: BaseHTTPRequestHandler, content: bytes) -> None:
        handler.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        handler.wfile.flush()

    @staticmethod
    def _end(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"0\r\n\r\n")


def _selected(item: dict[str, Any], query: dict[str, str]) -> bool:
    metadata = item["metadata"]
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        if metadata.get("name") != term.removeprefix("metadata.name="):
            return False
    for term in filter(None, query.get("labelSelector", "").split(",")):
        key, _, value = term.partition("=")
        if metadata.get("labels", {}).get(key) != value:
            return False
    return True


def pod(
    jobset: dict[str, Any],
    host: int = 0,
    *,
    phase: str = "Running",
    exit_code: int | None = None,
    message: str = "",
    reason: str = "Error",
    attempt: int = 0,
    ended: str = "2026-12-01T10:01:00Z",
) -> dict[str, Any]:
    """A pod object as the JobSet and Job controllers make it."""
    state: dict[str, Any] = {"running": {}}
    if exit_code is not None:
        terminated = {
            "exitCode": exit_code,
            "message": message,
            "reason": reason,
            "finishedAt": ended,
        }
        state = {"terminated": terminated}
        phase = "Failed" if exit_code else "Succeeded"
    name = f"{jobset['metadata']['name']}-slice-0-{host}-a{attempt}"
    return {
        "metadata": {
            "name": name,
            "uid": f"pod-{jobset['metadata']['uid']}-{host}-{attempt}",
            "labels": {
                "jobset.sigs.k8s.io/jobset-uid": jobset["metadata"]["uid"],
                "jobset.sigs.k8s.io/job-index": "0",
                "jobset.sigs.k8s.io/restart-attempt": str(attempt),
                "batch.kubernetes.io/job-completion-index": str(host),
            },
        },
        "spec": {"nodeName": f"tpu-{host}", "containers": [{"name": "trainer"}]},
        "status": {"phase": phase, "containerStatuses": [{"state": state}]},
    }


def wait_until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for what another thread does; fails the test when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.005)
