"""The four object types of the double: where they live, what cannot change, what is secret."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final

from rehearsal.plugin import RefusedError, Resource
from rehearsal.values import Secret, Values

_AUTONAMED: Final = "pulumi.com/autonamed"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True)
class Kind:
    """An object type of the core API.

    `immutable` are the fields whose change replaces the object, besides its name and namespace:
    the table in provider/pkg/provider/diff.go of pulumi-kubernetes.
    """

    name: str
    plural: str
    namespaced: bool = True
    immutable: frozenset[str] = frozenset()
    secret: frozenset[str] = frozenset()


KINDS: Final = {
    f"kubernetes:core/v1:{kind.name}": kind
    for kind in (
        Kind("Namespace", "namespaces", namespaced=False),
        Kind("ServiceAccount", "serviceaccounts"),
        Kind("ConfigMap", "configmaps", immutable=frozenset({"data", "binaryData"})),
        Kind(
            "Secret",
            "secrets",
            immutable=frozenset({"type", "data", "stringData"}),
            secret=frozenset({"data", "stringData"}),
        ),
    )
}


def kind_of(resource: Resource) -> Kind:
    """The kind of a resource.

    Raises:
        RefusedError: the double does not know the type.
    """
    if resource.kind in KINDS:
        return KINDS[resource.kind]
    raise RefusedError(
        f"this pulumi-resource-kubernetes is the rehearsal's stand-in and does not know "
        f"{resource.kind}; it knows {', '.join(KINDS)}. For other types put the real plugin on "
        f"PATH before rehearsal/bin: `pulumi plugin install resource kubernetes`, or "
        f"`make test-full`, which builds it"
    )


def complete(resource: Resource, old: Values, new: Values, namespace: str, seed: bytes) -> Values:
    """The inputs with type, name and namespace, as the real provider completes them."""
    kind = kind_of(resource)
    metadata: Values = dict(new.get("metadata") or {})
    if metadata.get("name") is None:
        suffix = hashlib.sha256(seed).hexdigest()[:8]
        earlier = old.get("metadata", {})
        kept = earlier.get("name") if is_autonamed(old) else None
        metadata["name"] = kept or f"{resource.name}-{suffix}".lower()
        metadata["annotations"] = {**metadata.get("annotations", {}), _AUTONAMED: "true"}
    if kind.namespaced:
        metadata.setdefault("namespace", namespace)
    return {**new, "apiVersion": "v1", "kind": kind.name, "metadata": metadata}


def problems(inputs: Values) -> list[tuple[str, str]]:
    """What the API server would refuse, as far as it can be told without asking it."""
    found = []
    for field in ("name", "namespace"):
        value = inputs["metadata"].get(field)
        if isinstance(value, str) and not (_NAME.fullmatch(value) and len(value) <= 253):
            reason = (
                f"{value!r} is no Kubernetes name: lower-case letters, digits, '-' and '.', "
                f"beginning and ending with a letter or digit, at most 253 (RFC 1123)"
            )
            found.append((f"metadata.{field}", reason))
    return found


def is_autonamed(inputs: Values) -> bool:
    """Whether the provider chose the name, so that a replacement can exist beside the old one."""
    annotations = inputs.get("metadata", {}).get("annotations") or {}
    return bool(annotations.get(_AUTONAMED) == "true")


def is_immutable(kind: Kind, path: str) -> bool:
    """Whether a change at this field path replaces the object."""
    names = {"apiVersion", "kind", "metadata.name", "metadata.namespace", *kind.immutable}
    return any(path == name or path.startswith(f"{name}.") for name in names)


def path_of(kind: Kind, metadata: Values) -> str:
    """Where the API server serves the object."""
    inside = f"namespaces/{metadata['namespace']}/" if kind.namespaced else ""
    return f"/api/v1/{inside}{kind.plural}/{metadata['name']}"


def identity(kind: Kind, metadata: Values) -> str:
    """The id: `namespace/name`, or `name` for what is in no namespace."""
    name = str(metadata["name"])
    return f"{metadata['namespace']}/{name}" if kind.namespaced else name


def metadata_of(kind: Kind, object_id: str) -> Values:
    """The name and namespace in an id."""
    namespace, _, name = object_id.rpartition("/")
    return {"name": name, "namespace": namespace} if kind.namespaced else {"name": name}


def outputs(kind: Kind, inputs: Values, live: Values) -> Values:
    """The object as the stack records it: without bookkeeping of the server, secrets marked."""
    metadata = {k: v for k, v in live["metadata"].items() if k != "managedFields"}
    shown = {**live, "metadata": metadata}
    if "stringData" in inputs:
        shown["stringData"] = inputs["stringData"]
    return {k: Secret(v) if k in kind.secret else v for k, v in shown.items()}


def refreshed(inputs: Values, live: Values) -> Values:
    """The inputs as the object shows them now; what others added to it is not drift."""
    current = dict(live)
    if "stringData" in inputs:
        stored = live.get("data") or {}
        current["stringData"] = {
            key: base64.b64decode(stored[key]).decode(errors="replace")
            for key in inputs["stringData"]
            if key in stored
        }
    narrowed: Values = _narrowed(inputs, current)
    return narrowed


def _narrowed(wanted: Any, actual: Any) -> Any:
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return {
            key: _narrowed(value, actual[key]) for key, value in wanted.items() if key in actual
        }
    return actual
