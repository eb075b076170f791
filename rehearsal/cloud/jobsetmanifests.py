"""The JobSet controller's own manifests, put together as its kustomization does, for a controller
that runs beside the cluster instead of in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
NAMESPACE = "jobset-system"
PREFIX = "jobset-"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles",
    "RoleBinding": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings",
    "MutatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    ),
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    ),
}


def definitions(config: Path) -> list[Object]:
    """Return the namespace and the CRDs, without the conversion webhook (there is one version)."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    found = [
        document
        for path in sorted((config / "components" / "crd" / "bases").glob("*.yaml"))
        for document in _load(path)
    ]
    for definition in found:
        definition["spec"]["conversion"] = {"strategy": "None"}
        definition.pop("status", None)
    return [namespace, *found]


def access(config: Path) -> list[Object]:
    """Return the service account, the roles and their bindings."""
    folder = config / "components" / "rbac"
    kustomization = _load(folder / "kustomization.yaml")[0]
    found = [d for name in kustomization["resources"] for d in _load(folder / name)]
    for document in found:
        _place(document)
        if "roleRef" in document:
            document["roleRef"]["name"] = PREFIX + document["roleRef"]["name"]
        for subject in document.get("subjects", []):
            subject |= {"name": PREFIX + subject["name"], "namespace": NAMESPACE}
    return found


def webhooks(config: Path, *, port: int, authority: str) -> list[Object]:
    """Return the webhook configurations, patched as upstream and pointed at a loopback port.

    `authority` is the base64 PEM of the authority that signed the webhook's certificate.
    """
    folder = config / "components" / "webhook"
    found = _load(folder / "manifests.yaml")
    for document in found:
        kind = "mutating" if document["kind"].startswith("Mutating") else "validating"
        for patch in _load(folder / "patches" / f"{kind}-patch.yaml")[0]:
            document["webhooks"][int(patch["path"].rpartition("/")[2])] = patch["value"]
        for webhook in document["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            url = f"https://127.0.0.1:{port}{path}"
            webhook["clientConfig"] = {"url": url, "caBundle": authority}
        _place(document)
    return found


def path_of(document: Object) -> str:
    """Return the API path of one of these objects."""
    return f"{PATHS[document['kind']]}/{document['metadata']['name']}"


def _place(document: Object) -> None:
    metadata = document["metadata"]
    metadata["name"] = PREFIX + metadata["name"]
    if document["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
        metadata["namespace"] = NAMESPACE


def _load(path: Path) -> list[Any]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]
