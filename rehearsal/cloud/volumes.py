"""Volumes as folders, and how a process that shares the machine's file system finds them.

There is no mount: that needs rights which not every machine gives. A container's mount paths, and
its termination message path, are instead replaced by the real folders wherever they stand in its
command, arguments, working directory and variables. `/dev/shm` stays the machine's own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rehearsal.cloud import objectdata
from rehearsal.cloud.kubernetes_api import KubernetesApi

Object = dict[str, Any]
SHARED_MEMORY = "/dev/shm"
_TOKEN_SECONDS = 3607


class Paths:
    """Mount paths of one container and what they are on this machine."""

    def __init__(self, real: dict[str, str]) -> None:
        self._real = real
        # The longest first: a volume may be mounted inside another.
        paths = sorted(map(re.escape, real), key=len, reverse=True)
        # Whole path segments only, and not the tail of a longer path, of a URL, of `$(DIR)/...`.
        self._pattern = re.compile(rf"(?<![\w./)}}-])({'|'.join(paths)})(?![\w.-])")

    def on_machine(self, text: str) -> str:
        """Return a text with every mount path replaced."""
        if not self._real:
            return text
        return self._pattern.sub(lambda match: self._real[match.group(1)], text)


def prepare(api: KubernetesApi, pod: Object, folder: Path) -> dict[str, Path]:
    """Make the folder of every volume of a pod. Raises ConfigError for what is not there yet."""
    made = {}
    for volume in pod["spec"].get("volumes") or []:
        if "hostPath" in volume:
            made[volume["name"]] = Path(volume["hostPath"]["path"])
            continue
        path = folder / volume["name"]
        path.mkdir(parents=True, exist_ok=True)
        made[volume["name"]] = path
        for source in (volume.get("projected") or {}).get("sources") or [volume]:
            for name, content in _files(api, pod, source).items():
                target = path / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    return made


def mount_paths(container: Object, volumes: dict[str, Path], termination_log: Path) -> Paths:
    """Return the paths that a container knows its volumes by."""
    default = "/dev/termination-log"
    real = {container.get("terminationMessagePath") or default: str(termination_log)}
    for mount in container.get("volumeMounts") or []:
        path = mount["mountPath"].rstrip("/")
        if path == SHARED_MEMORY:
            continue
        source = volumes[mount["name"]] / mount.get("subPath", "")
        if not source.exists():
            source.mkdir(parents=True)
        real[path] = str(source)
    return Paths(real)


def _files(api: KubernetesApi, pod: Object, source: Object) -> dict[str, bytes]:
    namespace = pod["metadata"]["namespace"]
    for kind, key in (("secret", "secret"), ("configmap", "configMap")):
        if key in source:
            wanted = source[key]
            name = wanted.get("secretName") or wanted["name"]
            optional = bool(wanted.get("optional"))
            found = objectdata.required(api, kind, namespace, name, optional=optional)
            return _picked(found, wanted.get("items"))
    if "downwardAPI" in source:
        return {
            item["path"]: objectdata.field(pod, item["fieldRef"]["fieldPath"]).encode()
            for item in source["downwardAPI"].get("items") or []
            if "fieldRef" in item
        }
    if "serviceAccountToken" in source:
        return {source["serviceAccountToken"]["path"]: _token(api, pod, source)}
    return {}


def _picked(found: dict[str, bytes], items: list[Object] | None) -> dict[str, bytes]:
    if not items:
        return found
    return {item["path"]: found[item["key"]] for item in items if item["key"] in found}


def _token(api: KubernetesApi, pod: Object, source: Object) -> bytes:
    wanted, metadata = source["serviceAccountToken"], pod["metadata"]
    account = pod["spec"].get("serviceAccountName", "default")
    bound = {"kind": "Pod", "apiVersion": "v1", "name": metadata["name"], "uid": metadata["uid"]}
    spec = {
        "audiences": [wanted["audience"]] if wanted.get("audience") else [],
        "expirationSeconds": wanted.get("expirationSeconds", _TOKEN_SECONDS),
        "boundObjectRef": bound,
    }
    folder = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}"
    token: str = api.create(f"{folder}/token", {"spec": spec})["status"]["token"]
    return token.encode()
