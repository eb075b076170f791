"""The life of an object of the double: applied to the real API server, and only in a real `up`."""

from __future__ import annotations

import os
from typing import Any, Final

from rehearsal.difference import Difference, compare
from rehearsal.kubernetes import kubeconfig, objects
from rehearsal.kubernetes.api import Api, UnreachableError
from rehearsal.plugin import Checked, RefusedError, Resource
from rehearsal.values import UNKNOWN, Values

_DELETE_SECONDS: Final = 600  # the real provider's default
_DELETE_UNREACHABLE: Final = "PULUMI_K8S_DELETE_UNREACHABLE"


class KubernetesProvider:
    """One provider instance, bound to one cluster."""

    def __init__(self) -> None:
        self._config: Values = {}
        self._api = Api(self._access)

    def configure(self, config: Values) -> None:
        """Take the configuration; the cluster is not contacted before something needs it."""
        self._config = config

    def diff_config(self, old: Values, new: Values) -> Difference:
        """Tell a change of credentials from a change of cluster.

        With `clusterIdentifier` only its change replaces; without it, any unknown kubeconfig or
        another active cluster does (DiffConfig in provider/pkg/provider/provider.go of
        pulumi-kubernetes).
        """
        if new.get("clusterIdentifier") is not None:
            return compare(old, new, lambda path: path == "clusterIdentifier")
        other = _active_cluster(old) != _active_cluster(new)
        unknown = UNKNOWN in (new.get("kubeconfig"), new.get("context"), new.get("cluster"))
        return compare(old, new, lambda path: path == "kubeconfig" and (other or unknown))

    def check(self, resource: Resource, old: Values, new: Values, seed: bytes) -> Checked:
        """Complete and judge the inputs without the cluster."""
        namespace = self._config.get("namespace") or "default"
        inputs = objects.complete(resource, old, new, namespace, seed)
        return Checked(inputs, objects.problems(inputs))

    def diff(self, resource: Resource, old: Values, new: Values) -> Difference:
        """Compare inputs; a fixed name has to be free before its replacement can be made."""
        kind = objects.kind_of(resource)
        difference = compare(old, new, lambda path: objects.is_immutable(kind, path))
        same = objects.identity(kind, old["metadata"]) == objects.identity(kind, new["metadata"])
        first = bool(difference.replaced) and same and not objects.is_autonamed(new)
        return Difference(difference.detailed, delete_before_replace=first)

    def create(
        self, resource: Resource, inputs: Values, preview: bool, timeout_seconds: float
    ) -> tuple[str, Values]:
        """Apply a new object; one that exists already belongs to somebody else."""
        kind = objects.kind_of(resource)
        if preview:
            return "", objects.outputs(kind, inputs, inputs)
        path = objects.path_of(kind, inputs["metadata"])
        if self._api.get(path) is not None:
            raise RefusedError(
                f"resource {objects.identity(kind, inputs['metadata'])!r} was not successfully "
                f'created by the Kubernetes API server: {kind.plural} "'
                f'{inputs["metadata"]["name"]}" already exists'
            )
        live = self._api.apply(path, inputs)
        return objects.identity(kind, live["metadata"]), objects.outputs(kind, inputs, live)

    def read(
        self, resource: Resource, inputs: Values, outputs: Values
    ) -> tuple[Values, Values] | None:
        """Look the object up; None when it is gone."""
        kind = objects.kind_of(resource)
        path = objects.path_of(kind, objects.metadata_of(kind, resource.id))
        try:
            live = self._api.get(path)
        except UnreachableError:
            if _drops_unreachable(self._config):
                return None
            raise
        if live is None:
            return None
        seen = objects.refreshed(inputs, live) if inputs else _importable(live)
        return seen, objects.outputs(kind, seen, live)

    def update(
        self, resource: Resource, outputs: Values, old: Values, new: Values, preview: bool
    ) -> Values:
        """Apply the new inputs; fields that are no longer in them are given up."""
        kind = objects.kind_of(resource)
        if preview:
            return objects.outputs(kind, new, {**outputs, **new})
        live = self._api.apply(objects.path_of(kind, new["metadata"]), new)
        return objects.outputs(kind, new, live)

    def delete(self, resource: Resource, outputs: Values, timeout_seconds: float) -> None:
        """Delete the object and wait until it is gone; one that is gone is deleted."""
        kind = objects.kind_of(resource)
        path = objects.path_of(kind, objects.metadata_of(kind, resource.id))
        try:
            self._api.delete(path, timeout_seconds or _DELETE_SECONDS)
        except UnreachableError:
            if not _drops_unreachable(self._config):
                raise

    def cancel(self) -> None:
        """End waits at once."""
        self._api.cancel()

    def _access(self) -> kubeconfig.Access:
        given = self._config.get("kubeconfig")
        if given is UNKNOWN:
            raise RefusedError("the kubeconfig is not known yet: its cluster does not exist")
        return kubeconfig.access(given or os.environ.get("KUBECONFIG", "~/.kube/config"))


def _active_cluster(config: Values) -> Any:
    given = config.get("kubeconfig")
    return kubeconfig.active_cluster(given) if isinstance(given, str) else given


def _drops_unreachable(config: Values) -> bool:
    return str(config.get("deleteUnreachable") or os.environ.get(_DELETE_UNREACHABLE)) == "true"


def _importable(live: Values) -> Values:
    """The inputs of an object that the stack does not know yet, without the server's own fields."""
    metadata = {
        name: live["metadata"][name]
        for name in ("name", "namespace", "labels", "annotations")
        if name in live["metadata"]
    }
    rest = {k: v for k, v in live.items() if k not in ("metadata", "status", "spec")}
    return {**rest, "metadata": metadata}
