"""A CONNECT proxy that ends TLS for storage.googleapis.com and asks the local object store.

The XLA profiler writes its traces through a C++ client without an endpoint setting; it honours
`HTTPS_PROXY` and `CURL_CA_BUNDLE`. Every other host is refused, so nothing leaves the machine.
"""

import argparse
import http.client
import re
import socketserver
import ssl
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

from rehearsal.gcs_tls_certificates import write_certificates

HOSTS = ("www.googleapis.com", "storage.googleapis.com")
# What belongs to one connection, or what this proxy sets itself. The client sends
# "Transfer-Encoding: identity", which Go's HTTP server answers with 501.
_HOP_HEADERS = {
    *("transfer-encoding", "content-length", "connection", "expect", "accept-encoding", "host"),
    *("proxy-connection", "keep-alive"),
}


class _StorageHandler(BaseHTTPRequestHandler):
    """One HTTP request inside the decrypted connection, sent on to the object store."""

    protocol_version = "HTTP/1.1"
    server: "Proxy"

    def _forward(self) -> None:
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.target_port, timeout=60)
        try:
            headers = {k: v for k, v in self.headers.items() if k.lower() not in _HOP_HEADERS}
            headers["Host"] = (self.headers.get("Host") or HOSTS[1]).split(":")[0]
            body = self._body() if self.command in ("POST", "PUT", "PATCH") else None
            upstream.request(self.command, self.path, body=body, headers=headers)
            answer = upstream.getresponse()
            self._answer(answer.status, answer.getheaders(), answer.read())
        except OSError as error:
            self._answer(502, [], f"object store: {error}".encode())
        finally:
            upstream.close()

    def _body(self) -> bytes:
        if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
            return b"".join(self._chunks())
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _chunks(self) -> Iterable[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _answer(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        length = str(len(body))
        for name, value in headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = value
            elif name.lower() == "location":
                # The upload session has to come back through this proxy.
                self.send_header(name, re.sub(r"^https?://[^/]+", f"https://{HOSTS[0]}", value))
            elif name.lower() not in _HOP_HEADERS:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _forward  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: the object store has a log of its own."""


class _ConnectHandler(BaseHTTPRequestHandler):
    """The plain connection to the proxy: CONNECT to one of the storage hosts, or `GET /ready`."""

    server: "Proxy"

    def do_GET(self) -> None:
        """Answer the readiness probe."""
        self._refuse(200 if urlsplit(self.path).path == "/ready" else 404)

    def do_CONNECT(self) -> None:
        """Take over the connection as the host the client asked for."""
        host, _, port = self.path.partition(":")
        if host not in HOSTS or port != "443":
            self._refuse(403)
            return
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            secured = self.server.tls.wrap_socket(self.connection, server_side=True)
        except (ssl.SSLError, OSError):
            return  # The client left, or does not trust the authority; it says so itself.
        with secured:
            _StorageHandler(secured, self.client_address, self.server)

    def _refuse(self, status: int) -> None:
        self.send_response_only(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: the object store has a log of its own."""


class Proxy(socketserver.ThreadingTCPServer):
    """The listening socket and what every connection needs."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, target_port: int, directory: Path) -> None:
        certificate, key = write_certificates(directory, HOSTS)
        self.target_port = target_port
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificate, key)
        self.tls.set_alpn_protocols(["http/1.1"])
        super().__init__(("127.0.0.1", port), _ConnectHandler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away in the middle of a request."""


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--target-port", type=int, required=True, help="of the object store")
    parser.add_argument("--directory", type=Path, required=True, help="for the authority's files")
    options = parser.parse_args()
    with Proxy(options.port, options.target_port, options.directory) as proxy:
        proxy.serve_forever()


if __name__ == "__main__":
    main()
