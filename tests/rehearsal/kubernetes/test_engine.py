"""The stand-in under the real engine, against the real API server."""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from rehearsal.environment import KUBERNETES_PLUGIN
from rehearsal.kubernetes.api import Api
from rehearsal.kubernetes.kubeconfig import access
from rehearsal.plugin import RefusedError
from tests.rehearsal.declared import Project, project

pytestmark = pytest.mark.rehearsal

CANARY = "hf_canary_of_the_engine"


def declare(small: Project, namespace: str, config: dict[str, Any], **changed: Any) -> None:
    def core(kind: str, name: str, **body: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": namespace, **body.pop("metadata", {})}
        return {
            "type": f"kubernetes:core/v1:{kind}", "name": name, "provider": "cluster",
            "inputs": {"apiVersion": "v1", "kind": kind, "metadata": metadata, **body},
        }  # fmt: skip

    token = {**core("Secret", "token", stringData={"t": changed.get("token", CANARY)}),
             "secret": ["stringData"]}  # fmt: skip
    account = core("ServiceAccount", "maxtext", metadata={"labels": changed.get("labels", {})})
    provider = {"type": "provider:kubernetes", "name": "cluster", "inputs": config}
    settings = core("ConfigMap", "settings", data={"a": "b"})
    small.declare({**provider, "secret": ["kubeconfig"]}, account, settings, token)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Project]:
    with project(tmp_path) as found:
        yield found


def test_objects_are_applied_kept_secret_repaired_and_deleted(
    small: Project, kubeconfig: str, api_client: client.ApiClient, namespace: str
) -> None:
    core = client.CoreV1Api(api_client)
    config = {"kubeconfig": kubeconfig, "clusterIdentifier": "first"}
    declare(small, namespace, config)
    small.up()
    stored = core.read_namespaced_secret("token", namespace)
    assert base64.b64decode(stored.data["t"]).decode() == CANARY
    exported = small.run("stack", "export")
    assert CANARY not in exported
    assert stored.data["t"] not in exported
    assert small.preview() == {}

    core.delete_namespaced_service_account("maxtext", namespace)
    core.patch_namespaced_config_map("settings", namespace, {"data": {"a": "changed"}})
    small.refresh()
    assert small.up() == {"maxtext": "create", "settings": "replace"}

    declare(small, namespace, config, labels={"team": "a"}, token="another")
    assert small.up() == {"maxtext": "update", "token": "replace"}
    small.destroy()
    assert not core.list_namespaced_secret(namespace).items
    assert "maxtext" not in str(core.list_namespaced_service_account(namespace).items)


def test_only_another_identifier_replaces_the_objects(
    small: Project, kubeconfig: str, namespace: str
) -> None:
    declare(small, namespace, {"kubeconfig": kubeconfig, "clusterIdentifier": "first"})
    small.up()
    same = json.dumps({**json.loads(kubeconfig), "preferences": {"colors": True}})
    declare(small, namespace, {"kubeconfig": same, "clusterIdentifier": "first"})
    assert small.up() == {"cluster": "update"}
    declare(small, namespace, {"kubeconfig": same, "clusterIdentifier": "second"})
    replaced = small.preview()
    assert set(replaced.values()) == {"replace"}
    assert set(replaced) == {"cluster", "maxtext", "settings", "token"}


def test_a_preview_works_while_the_cluster_cannot_be_reached(
    small: Project, kubeconfig: str, namespace: str
) -> None:
    dead = json.loads(kubeconfig)
    for cluster in dead["clusters"]:
        cluster["cluster"]["server"] = "https://127.0.0.1:1"
    declare(small, namespace, {"kubeconfig": json.dumps(dead), "clusterIdentifier": "first"})
    assert set(small.preview().values()) == {"create"}


@pytest.mark.skipif(
    os.environ.get(KUBERNETES_PLUGIN) == "real",
    reason="the newest plugin that can be built as a module takes such an object over",
)
def test_an_object_of_somebody_else_is_not_taken_over(
    small: Project, kubeconfig: str, api_client: client.ApiClient, namespace: str
) -> None:
    core = client.CoreV1Api(api_client)
    core.create_namespaced_config_map(
        namespace, {"metadata": {"name": "settings"}, "data": {"theirs": "x"}}
    )
    declare(small, namespace, {"kubeconfig": kubeconfig, "clusterIdentifier": "first"})
    small.up(fails=True)
    assert 'configmaps \\"settings\\" already exists' in small.output
    assert core.read_namespaced_config_map("settings", namespace).data == {"theirs": "x"}


def test_a_deletion_waits_until_the_object_is_gone(
    kubeconfig: str, api_client: client.ApiClient, namespace: str
) -> None:
    core = client.CoreV1Api(api_client)
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    core.create_namespaced_config_map(namespace, held)
    path = f"/api/v1/namespaces/{namespace}/configmaps/held"
    released: list[float] = []

    def release() -> None:
        released.append(time.monotonic())
        core.patch_namespaced_config_map("held", namespace, {"metadata": {"finalizers": None}})

    threading.Timer(0.5, release).start()
    Api(lambda: access(kubeconfig)).delete(path, 30)
    assert released
    assert time.monotonic() - released[0] < 5
    Api(lambda: access(kubeconfig)).delete(path, 30)


def test_a_cancelled_deletion_says_what_still_holds_the_object(
    kubeconfig: str, api_client: client.ApiClient, namespace: str
) -> None:
    core = client.CoreV1Api(api_client)
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    core.create_namespaced_config_map(namespace, held)
    api = Api(lambda: access(kubeconfig))
    threading.Timer(0.5, api.cancel).start()
    started = time.monotonic()
    with pytest.raises(RefusedError, match=r"still being deleted.*example\.com/hold.*cancelled"):
        api.delete(f"/api/v1/namespaces/{namespace}/configmaps/held", 60)
    assert time.monotonic() - started < 5
    core.patch_namespaced_config_map("held", namespace, {"metadata": {"finalizers": None}})


def test_a_field_that_does_not_exist_is_refused_by_the_api_server(
    kubeconfig: str, namespace: str
) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "dat": {}}
    with pytest.raises(RefusedError, match=r"\.dat"):
        Api(lambda: access(kubeconfig)).apply(f"/api/v1/namespaces/{namespace}/configmaps/x", body)
