"""The administrator's kubeconfig of a home, for kubectl: one context per cluster."""

from __future__ import annotations

import json
from pathlib import Path

from rehearsal.cloud.model import ClusterAccess
from rehearsal.cloud.pki import write_private


def write_kubeconfig(
    home: Path, clusters: list[tuple[tuple[str, str, str], ClusterAccess]]
) -> None:
    """Write `<home>/kubeconfig`; the current context is the newest cluster.

    Contexts are named as gcloud names them: `gke_PROJECT_LOCATION_NAME`.
    """
    named = [("_".join(("gke", *key)), access) for key, access in clusters]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": named[-1][0] if named else "",
        "clusters": [{"name": name, "cluster": _server(access)} for name, access in named],
        "users": [{"name": name, "user": _administrator(access)} for name, access in named],
        "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n, _ in named],
    }
    write_private(home / "kubeconfig", json.dumps(config, indent=2).encode() + b"\n")


def _server(access: ClusterAccess) -> dict[str, str]:
    server = f"https://{access.endpoint}"
    return {"server": server, "certificate-authority-data": access.ca_certificate}


def _administrator(access: ClusterAccess) -> dict[str, str]:
    return {
        "client-certificate-data": access.client_certificate,
        "client-key-data": access.client_key,
    }
