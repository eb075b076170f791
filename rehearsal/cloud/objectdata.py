"""Secrets and config maps as the kubelet reads them, and why a container has to wait for one."""

from __future__ import annotations

import base64
from typing import Any

from rehearsal.cloud.kubernetes_api import KubernetesApi

Object = dict[str, Any]
_PLURALS = {"secret": "secrets", "configmap": "configmaps"}


class ConfigError(Exception):
    """A container cannot start yet; the text is what the pod's status says."""


def read(api: KubernetesApi, kind: str, namespace: str, name: str) -> dict[str, bytes] | None:
    """Return the keys of a `secret` or `configmap`, or None when it does not exist."""
    found = api.find(f"/api/v1/namespaces/{namespace}/{_PLURALS[kind]}/{name}")
    if found is None:
        return None
    data = found.get("data") or {}
    if kind == "secret":
        return {key: base64.b64decode(value) for key, value in data.items()}
    binary = found.get("binaryData") or {}
    return {key: value.encode() for key, value in data.items()} | {
        key: base64.b64decode(value) for key, value in binary.items()
    }


def required(
    api: KubernetesApi, kind: str, namespace: str, name: str, *, optional: bool
) -> dict[str, bytes]:
    """Return the keys of an object; of an absent optional one, none. Raises ConfigError."""
    found = read(api, kind, namespace, name)
    if found is None and not optional:
        raise ConfigError(f'{kind} "{name}" not found')
    return found or {}


def value(api: KubernetesApi, kind: str, namespace: str, reference: Object) -> bytes | None:
    """Return one key; None when it is absent and optional. Raises ConfigError."""
    optional = bool(reference.get("optional"))
    found = required(api, kind, namespace, reference["name"], optional=optional)
    if reference["key"] in found:
        return found[reference["key"]]
    if optional:
        return None
    title = {"secret": "Secret", "configmap": "ConfigMap"}[kind]
    raise ConfigError(
        f"couldn't find key {reference['key']} in {title} {namespace}/{reference['name']}"
    )


def field(pod: Object, path: str) -> str:
    """Return a field of the downward API. Raises ConfigError for one it does not have."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    for kind in ("labels", "annotations"):
        values = metadata.get(kind) or {}
        if path == f"metadata.{kind}":
            return "\n".join(f'{key}="{text}"' for key, text in sorted(values.items()))
        if path.startswith(f"metadata.{kind}['") and path.endswith("']"):
            return str(values.get(path[len(f"metadata.{kind}['") : -2], ""))
    fields = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.podIP": status.get("podIP", ""),
        "status.podIPs": status.get("podIP", ""),
        "status.hostIP": "127.0.0.1",
        "status.hostIPs": "127.0.0.1",
    }
    if path not in fields:
        raise ConfigError(f"the downward API has no field {path}")
    return str(fields[path])
