"""How to reach a cluster: the parts of a kubeconfig that the plugin needs, exec included."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rehearsal.plugin import RefusedError

Document = dict[str, Any]


@dataclass(frozen=True)
class Access:
    """Where an API server is, and as whom to talk to it."""

    host: str
    port: int
    tls: ssl.SSLContext
    token: str | None


def active_cluster(text: str) -> Document:
    """The cluster entry of the current context, which is what tells clusters apart.

    Raises:
        RefusedError: the text is no kubeconfig with a current context.
    """
    return _active(_parsed(text), "cluster")


def access(text: str) -> Access:
    """Read a kubeconfig (its text, or the path of its file) and obtain the credentials.

    Raises:
        RefusedError: it is no kubeconfig, or its exec command fails.
    """
    document = _parsed(text)
    cluster, user = _active(document, "cluster"), _active(document, "user")
    address = urlsplit(str(cluster["server"]))
    tls = ssl.create_default_context(cadata=_authority(cluster))
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    credential = _exec_credential(user["exec"], cluster) if "exec" in user else user
    _load_client_certificate(tls, credential)
    token = credential.get("token")
    return Access(address.hostname or "", address.port or 443, tls, token)


def _parsed(text: str) -> Document:
    content = text if "{" in text or "\n" in text else Path(text).expanduser().read_text()
    try:
        document = json.loads(content)
    except ValueError:
        import yaml  # only for kubeconfigs that are not JSON; ours are

        document = yaml.safe_load(content)
    if not isinstance(document, dict) or "clusters" not in document:
        raise RefusedError("kubeconfig is neither the text nor the path of a kubeconfig")
    return document


def _active(document: Document, part: str) -> Document:
    """The entry of the current context, in its list `clusters` or `users`."""
    context = _named(document, "context", document.get("current-context"))
    return _named(document, part, context.get(part))


def _named(document: Document, part: str, name: Any) -> Document:
    for entry in document.get(f"{part}s") or []:
        if entry["name"] == name:
            found: Document = entry[part]
            return found
    raise RefusedError(f"kubeconfig has no {part} named {name!r}")


def _authority(cluster: Document) -> str | None:
    data = cluster.get("certificate-authority-data")
    if data:
        return base64.b64decode(data).decode()
    path = cluster.get("certificate-authority")
    return Path(path).read_text() if path else None


def _exec_credential(command: Document, cluster: Document) -> Document:
    """Run a credential plugin (client.authentication.k8s.io) and read what it prints."""
    version = command["apiVersion"]
    spec: Document = {"interactive": False}
    if command.get("provideClusterInfo"):
        spec["cluster"] = {
            "server": cluster["server"],
            "certificate-authority-data": cluster.get("certificate-authority-data"),
        }
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    added = {variable["name"]: variable["value"] for variable in command.get("env") or []}
    environment = {**os.environ, **added, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    try:
        answer = subprocess.run(
            [command["command"], *(command.get("args") or [])],
            env=environment, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
    except FileNotFoundError as error:
        hint = command.get("installHint", "put it on PATH")
        raise RefusedError(f"kubeconfig needs {command['command']}: {hint}") from error
    except subprocess.CalledProcessError as error:
        raise RefusedError(f"{command['command']} failed: {error.stderr.strip()}") from error
    status: Document = json.loads(answer.stdout)["status"]
    return status


def _load_client_certificate(tls: ssl.SSLContext, credential: Document) -> None:
    certificate = credential.get("clientCertificateData") or _decoded(credential, "certificate")
    key = credential.get("clientKeyData") or _decoded(credential, "key")
    if certificate and key:
        with _file(certificate) as certificate_path, _file(key) as key_path:
            tls.load_cert_chain(certificate_path, key_path)


def _decoded(credential: Document, part: str) -> str | None:
    data = credential.get(f"client-{part}-data")
    if data:
        return base64.b64decode(data).decode()
    path = credential.get(f"client-{part}")
    return Path(path).read_text() if path else None


@contextlib.contextmanager
def _file(content: str) -> Iterator[str]:
    """A private file for the moment of loading: ssl takes key material only from files."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(content)
        file.flush()
        yield file.name
