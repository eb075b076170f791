"""A container's variables, in the order in which the kubelet lets one win over another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rehearsal.cloud import objectdata, tpu
from rehearsal.cloud.kubernetes_api import KubernetesApi
from rehearsal.cloud.volumes import Paths

Object = dict[str, Any]
_REFERENCE = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)`; `$$` is a dollar sign, and an unknown name stays as it is.

    https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
    """

    def replacement(match: re.Match[str]) -> str:
        if match.group(0) == "$$":
            return "$"
        return variables.get(match.group(1), match.group(0))

    return _REFERENCE.sub(replacement, text)


def build(
    api: KubernetesApi,
    pod: Object,
    container: Object,
    *,
    paths: Paths,
    machine: Mapping[str, str],
    injected: Mapping[str, str | None],
) -> dict[str, str]:
    """Return the variables of one container. Raises ConfigError.

    `machine` gives what an image would (PATH, HOME), `injected` wins over the manifest; None in it
    takes a variable away. Mount paths are replaced in what the manifest says literally.
    """
    variables = dict(machine)
    # The webhook changes the pod on its way in, so what the manifest says itself wins.
    variables |= tpu.variables(pod, container)
    for source in container.get("envFrom") or []:
        variables |= _all_keys(api, pod, source)
    for entry in container.get("env") or []:
        if "valueFrom" not in entry:
            text = paths.on_machine(entry.get("value") or "")
            variables[entry["name"]] = expand(text, variables)
            continue
        found = _source(api, pod, container, entry["valueFrom"])
        if found is not None:
            variables[entry["name"]] = found
    for name, value in injected.items():
        if value is None:
            variables.pop(name, None)
        else:
            variables[name] = paths.on_machine(value)
    return variables


def _all_keys(api: KubernetesApi, pod: Object, source: Object) -> dict[str, str]:
    kind = "secret" if "secretRef" in source else "configmap"
    reference = source.get("secretRef") or source["configMapRef"]
    optional = bool(reference.get("optional"))
    namespace = pod["metadata"]["namespace"]
    found = objectdata.required(api, kind, namespace, reference["name"], optional=optional)
    prefix = source.get("prefix", "")
    return {prefix + key: value.decode() for key, value in found.items()}


def _source(api: KubernetesApi, pod: Object, container: Object, source: Object) -> str | None:
    if "fieldRef" in source:
        return objectdata.field(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        return _resource(container, source["resourceFieldRef"])
    kind, key = (
        ("secret", "secretKeyRef")
        if "secretKeyRef" in source
        else (
            "configmap",
            "configMapKeyRef",
        )
    )
    found = objectdata.value(api, kind, pod["metadata"]["namespace"], source[key])
    return None if found is None else found.decode()


def _resource(container: Object, reference: Object) -> str:
    kind, _, name = reference["resource"].partition(".")
    resources = container.get("resources") or {}
    return str((resources.get(kind) or {}).get(name, "0"))
