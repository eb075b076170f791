"""Speak to a Kubernetes API server as its kubeconfig says, over plain REST.

Not through the client package's generated API: its loader keeps private keys in temporary files
that survive a killed plugin, and hides a failing credential plugin behind a later 401.
"""

import base64
import json
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError

_CONNECT_SECONDS = 10.0
_READ_SECONDS = 30.0
_STREAM_LINE_LIMIT_BYTES = 8 * 1024 * 1024


class ClusterError(Exception):
    """A request failed; `status` is the HTTP status, or None when no answer came."""

    def __init__(
        self, message: str, status: int | None = None, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class CredentialError(ClusterError):
    """The kubeconfig's credentials cannot be had on this machine."""


@dataclass(frozen=True)
class Stream:
    """An open answer that is read line by line; `close` may be called from another thread."""

    response: urllib3.BaseHTTPResponse

    def lines(self) -> Iterator[bytes]:
        """Yield each line without its end; an overlong one is cut. Raises ClusterError."""
        pending = b""
        try:
            for chunk in self.response.stream(64 * 1024):
                *complete, pending = (pending + chunk).split(b"\n")
                yield from complete
                if len(pending) > _STREAM_LINE_LIMIT_BYTES:
                    yield pending
                    pending = b""
        except (HTTPError, OSError, ValueError, AttributeError) as error:
            raise ClusterError(f"connection lost: {error}") from None
        if pending:
            yield pending

    def close(self) -> None:
        """Wake whoever reads and give the connection up."""
        # An error means that it is released already: nobody is reading.
        with suppress(ValueError, RuntimeError, OSError):
            self.response.shutdown()


class Connection:
    """One API server; safe to use from several threads."""

    def __init__(self, kubeconfig: str) -> None:
        """Read the kubeconfig text (JSON). Raises CredentialError when it cannot be used."""
        try:
            config = json.loads(kubeconfig)
            context = _named(config["contexts"], config["current-context"])["context"]
            self._cluster = _named(config["clusters"], context["cluster"])["cluster"]
            self._user = _named(config.get("users") or [], context["user"])["user"]
            self.server = self._cluster["server"].rstrip("/")
        except (ValueError, KeyError, TypeError) as error:
            raise CredentialError(f"the kubeconfig cannot be read: {error!r} is missing") from None
        self._lock = Lock()
        self._token = self._user.get("token", "")
        self._credential: dict[str, Any] = {}
        self._pool: urllib3.PoolManager | None = None

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Make one request and return the answer's object. Raises ClusterError."""
        response = self._open(method, path, query, body, _READ_SECONDS, stream=False)
        try:
            answer = json.loads(response.data or b"{}")
        except ValueError:
            raise ClusterError(f"{self.server} answered something that is no JSON") from None
        return answer if isinstance(answer, dict) else {}

    def stream(self, path: str, query: Mapping[str, str], *, silence_seconds: float) -> Stream:
        """Open a watch or a log; it ends when nothing comes for `silence_seconds`."""
        return Stream(self._open("GET", path, query, None, silence_seconds, stream=True))

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        read_seconds: float,
        *,
        stream: bool,
    ) -> urllib3.BaseHTTPResponse:
        url = self.server + path + ("?" + urlencode(query) if query else "")
        for renewed in (False, True):
            pool, token = self._access(renew=renewed)
            headers = {"Accept": "application/json", "User-Agent": "maxtext-sft"}
            if token:
                headers["Authorization"] = f"Bearer {token}"
            if body is not None:
                headers["Content-Type"] = "application/json"
            try:
                response = pool.request(
                    method,
                    url,
                    body=None if body is None else json.dumps(body),
                    headers=headers,
                    timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=read_seconds),
                    preload_content=not stream,
                    retries=False,
                )
            except (HTTPError, OSError) as error:
                raise ClusterError(f"{self.server} cannot be reached: {_short(error)}") from None
            # A token lives for about an hour; a stage lives longer. One fresh one, then give up.
            if response.status != 401 or renewed or "exec" not in self._user:
                break
            response.release_conn()
        if response.status >= 400:
            raise _refused(method, path, response)
        return response

    def _access(self, *, renew: bool) -> tuple[urllib3.PoolManager, str]:
        with self._lock:
            if "exec" in self._user and (renew or not self._credential):
                self._credential = _exec_credential(self._user["exec"], self._cluster)
                self._token = self._credential.get("token", "")
                self._pool = None  # the credential may be a certificate
            if self._pool is None:
                self._pool = _pool(self._cluster, self._user, self._credential)
            return self._pool, self._token


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for entry in entries:
        if entry.get("name") == name:
            return entry
    raise KeyError(name)


def _exec_credential(spec: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.exec_provider import ExecProvider
    from kubernetes.config.kube_config import ConfigNode

    # The package is untyped, and its provider wants its own node type for optional keys.
    node: Any = ConfigNode
    provider: Any = ExecProvider
    settings = {key: value for key, value in spec.items() if value is not None}
    try:
        plugin = provider(node("exec", settings), None, node("cluster", dict(cluster)))
        status: dict[str, Any] = plugin.run()
    except FileNotFoundError:
        hint = spec.get("installHint") or "install it and put it on PATH"
        raise CredentialError(f"{spec['command']} is not on PATH: {hint}") from None
    except (ConfigException, OSError) as error:
        raise CredentialError(f"{spec['command']} gave no credential: {error}") from None
    return status


def _pool(
    cluster: Mapping[str, Any], user: Mapping[str, Any], credential: Mapping[str, Any]
) -> urllib3.PoolManager:
    context = ssl.create_default_context()
    if cluster.get("certificate-authority-data"):
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
    elif cluster.get("certificate-authority"):
        context = ssl.create_default_context(cafile=cluster["certificate-authority"])
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    _client_certificate(context, user, credential)
    settings: dict[str, Any] = {"ssl_context": context, "maxsize": 8}
    if cluster.get("tls-server-name"):
        settings["server_hostname"] = cluster["tls-server-name"]
        settings["assert_hostname"] = cluster["tls-server-name"]
    proxy = cluster.get("proxy-url") or _environment_proxy(cluster["server"])
    return urllib3.ProxyManager(proxy, **settings) if proxy else urllib3.PoolManager(**settings)


def _client_certificate(
    context: ssl.SSLContext, user: Mapping[str, Any], credential: Mapping[str, Any]
) -> None:
    if credential.get("clientCertificateData"):
        certificate = credential["clientCertificateData"].encode()
        key = credential["clientKeyData"].encode()
    elif user.get("client-certificate-data"):
        certificate = base64.b64decode(user["client-certificate-data"])
        key = base64.b64decode(user["client-key-data"])
    elif user.get("client-certificate"):
        context.load_cert_chain(user["client-certificate"], user["client-key"])
        return
    else:
        return
    # OpenSSL's binding reads a chain from a file only; it exists just while it is read.
    with tempfile.NamedTemporaryFile(prefix="maxtext-sft-") as chain:
        Path(chain.name).write_bytes(certificate + b"\n" + key)
        context.load_cert_chain(chain.name)


def _environment_proxy(server: str) -> str | None:
    parts = urlsplit(server)
    if parts.hostname is None or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


def _refused(method: str, path: str, response: urllib3.BaseHTTPResponse) -> ClusterError:
    try:
        message = json.loads(response.data).get("message", "")
    except (ValueError, AttributeError, HTTPError):
        message = ""
    retry_after = response.headers.get("Retry-After", "")
    return ClusterError(
        message or f"{method} {path}: HTTP {response.status}",
        response.status,
        float(retry_after) if retry_after.isdigit() else None,
    )


def _short(error: Exception) -> str:
    # urllib3 puts its pool in front of what happened.
    return str(error).rpartition(": ")[2] or type(error).__name__
