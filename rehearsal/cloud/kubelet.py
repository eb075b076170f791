"""The kubelet's HTTPS endpoint that the API server asks for container logs."""

from __future__ import annotations

import datetime
import socket
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from rehearsal.cloud.containers import Container
from rehearsal.cloud.machine import Machine


class Kubelet(ThreadingHTTPServer):
    """Serves the logs of every pod of a machine, to holders of the cluster's certificates."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, machine: Machine, pki: Path) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.machine = machine
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pki / "kubelet.crt", pki / "kubelet.key")
        self._context.load_verify_locations(pki / "ca.crt")
        self._context.verify_mode = ssl.CERT_REQUIRED

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Do the handshake here and not in accept, which one slow client would block."""
        connection: socket.socket = request
        try:
            connection = self._context.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()
            return
        super().process_request_thread(connection, client_address)

    def find(self, namespace: str, pod_name: str, container_name: str) -> Container | None:
        """Return a container of a pod on this machine."""
        for pod in list(self.machine.pods.values()):
            if (pod.namespace, pod.name) == (namespace, pod_name):
                return pod.find_container(container_name)
        return None


class _Handler(BaseHTTPRequestHandler):
    server: Kubelet
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer `/healthz` and `/containerLogs/NAMESPACE/POD/CONTAINER`."""
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        if parts == ["healthz"]:
            self._answer(200, "ok")
        elif parts[0] != "containerLogs" or len(parts) != 4:
            self._answer(404, "not found")
        elif (container := self.server.find(*parts[1:])) is None:
            self._answer(404, f"container {parts[3]} of pod {parts[2]} not found")
        else:
            query = {name: values[-1] for name, values in parse_qs(url.query).items()}
            self._stream(container, query)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the agent's log to pods."""

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def _stream(self, container: Container, query: dict[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        remaining = int(query["limitBytes"]) if "limitBytes" in query else None
        try:
            for content in _contents(container, query):
                content = content[:remaining]
                if content:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
                    self.wfile.flush()
                if remaining is not None:
                    remaining -= len(content)
                    if remaining <= 0:
                        break
            self.wfile.write(b"0\r\n\r\n")
        except (ConnectionError, ssl.SSLError):
            self.close_connection = True  # the reader has gone


def _contents(container: Container, query: dict[str, str]) -> Iterator[bytes]:
    since, stamped = _since(query), query.get("timestamps") == "true"
    for lines in _batches(container, query):
        chosen = [line for line in lines if line.partition(b" ")[0].decode() >= since]
        yield b"".join(chosen if stamped else [line.partition(b" ")[2] for line in chosen])


def _batches(container: Container, query: dict[str, str]) -> Iterator[list[bytes]]:
    """Yield the stored lines, then new ones as they come until the container has ended."""
    previous = query.get("previous") == "true"
    path = container.previous_log_path if previous else container.log_path
    if not path.exists():
        path = Path("/dev/null")
    with path.open("rb") as log:
        lines = log.readlines()
        tail = query.get("tailLines")
        yield lines if tail is None else lines[max(len(lines) - int(tail), 0) :]
        if previous or query.get("follow") != "true":
            return
        while True:
            with container.grown:
                ended = container.finished
                lines = log.readlines()
                if not lines and not ended:
                    container.grown.wait()
                    continue
            yield lines
            if ended:
                return


def _since(query: dict[str, str]) -> str:
    if "sinceTime" in query:
        moment = datetime.datetime.fromisoformat(query["sinceTime"])
    elif "sinceSeconds" in query:
        seconds = datetime.timedelta(seconds=int(query["sinceSeconds"]))
        moment = datetime.datetime.now(datetime.UTC) - seconds
    else:
        return ""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
