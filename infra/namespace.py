"""The namespace of one stack, its service account and the Hub token."""

from __future__ import annotations

from typing import Any

import pulumi

from infra.cluster import TrainingCluster
from infra.config import Home
from infra.labels import kubernetes_labels
from infra.names import SERVICE_ACCOUNT, TOKEN_KEY, TOKEN_SECRET


class _CoreObject(pulumi.CustomResource):
    """An object of the core API, without `pulumi_kubernetes.core.v1` and its 0.7 s of import."""

    def __init__(
        self, kind: str, name: str, body: dict[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        inputs = {"apiVersion": "v1", "kind": kind, **body}
        super().__init__(f"kubernetes:core/v1:{kind}", name, inputs, opts)


class TrainingNamespace(pulumi.ComponentResource):
    """Where the stages run: always ours, gone with the cluster."""

    name: str

    def __init__(
        self,
        name: str,
        *,
        home: Home,
        hf_token: pulumi.Output[str] | None,
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
        if hf_token is not None:
            data = {TOKEN_KEY: hf_token}
            self._secret(f"{name}-token", TOKEN_SECRET, data, within)
        self.register_outputs({"name": self.name})

    def _metadata(self, name: str) -> dict[str, Any]:
        return {"name": name, "namespace": self.name, "labels": kubernetes_labels(name)}

    def _secret(
        self, name: str, secret: str, data: dict[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        body = {"metadata": self._metadata(secret), "stringData": pulumi.Output.secret(data)}
        _CoreObject("Secret", name, body, opts)
