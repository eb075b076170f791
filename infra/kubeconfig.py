"""How the Kubernetes provider and the stages reach the cluster, as a kubeconfig."""

from __future__ import annotations

from typing import Any


def kubeconfig(*, name: str, server: Any, certificate_authority: Any | None) -> dict[str, Any]:
    """Return a kubeconfig whose credentials come from `gke-gcloud-auth-plugin`.

    The plugin refreshes them; a token pasted in would expire after an hour, in the middle of a
    run. The DNS endpoint has a public certificate and therefore no `certificate_authority`
    (base64 PEM). Values may be outputs.
    """
    cluster: dict[str, Any] = {"server": server}
    if certificate_authority is not None:
        cluster["certificate-authority-data"] = certificate_authority
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
        "users": [
            {
                "name": name,
                "user": {
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1beta1",
                        "command": "gke-gcloud-auth-plugin",
                        "installHint": "gcloud components install gke-gcloud-auth-plugin",
                        "interactiveMode": "Never",
                        "provideClusterInfo": True,
                    }
                },
            }
        ],
    }
