"""The namespace of one stack, its service account and its secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from infra.cluster import TrainingCluster
from infra.config import Home
from infra.labels import kubernetes_labels
from infra.names import SERVICE_ACCOUNT


class _CoreObject(pulumi.CustomResource):
    """An object of the core API, without `pulumi_kubernetes.core.v1` and its 0.7 s of import."""

    def __init__(
        self, kind: str, name: str, body: dict[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        inputs = {"apiVersion": "v1", "kind": kind, **body}
        super().__init__(f"kubernetes:core/v1:{kind}", name, inputs, opts)


class TrainingNamespace(pulumi.ComponentResource):
    """Where the stages run: always ours, gone with the cluster.

    `secrets` are the Kubernetes Secrets by name, each with its keys: the only place where a secret
    value leaves the config.
    """

    name: str

    def __init__(
        self,
        name: str,
        *,
        home: Home,
        secrets: Mapping[str, Mapping[str, str]],
        cluster: TrainingCluster,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("maxtext:infra:TrainingNamespace", name, None, opts)
        self.name = home.namespace
        inside = pulumi.ResourceOptions(parent=self, deleted_with=cluster.gke)
        namespace = _CoreObject(
            "Namespace",
            f"{name}-namespace",
            {"metadata": {"name": self.name, "labels": kubernetes_labels("namespace")}},
            inside,
        )
        within = pulumi.ResourceOptions(
            parent=self, deleted_with=cluster.gke, depends_on=[namespace]
        )
        _CoreObject(
            "ServiceAccount",
            f"{name}-account",
            {
                "metadata": self._metadata(SERVICE_ACCOUNT),
                "automountServiceAccountToken": False,
            },
            within,
        )
        for secret, data in secrets.items():
            body = {
                "metadata": self._metadata(secret),
                "stringData": pulumi.Output.secret(dict(data)),
            }
            _CoreObject("Secret", f"{name}-{secret}", body, within)
        self.register_outputs({"name": self.name})

    def _metadata(self, name: str) -> dict[str, Any]:
        return {"name": name, "namespace": self.name, "labels": kubernetes_labels(name)}
