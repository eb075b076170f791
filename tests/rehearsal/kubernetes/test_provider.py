from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from rehearsal.kubernetes.provider import KubernetesProvider
from rehearsal.plugin import RefusedError, Resource
from rehearsal.values import UNKNOWN, Secret
from tests.rehearsal.kubernetes.test_kubeconfig import document

TOKEN = Resource("urn:pulumi:s::p::kubernetes:core/v1:Secret::token", "demo/token")
INPUTS = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token", "namespace": "demo"},
    "stringData": {"t": "canary"},
}


def config(server: str, identifier: Any = None) -> dict[str, Any]:
    kubeconfig = document(token="t")
    kubeconfig["clusters"][0]["cluster"]["server"] = server
    found = {"kubeconfig": json.dumps(kubeconfig)}
    return found if identifier is None else {**found, "clusterIdentifier": identifier}


@pytest.fixture
def unreachable() -> KubernetesProvider:
    """A provider of a cluster behind whose address nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    provider = KubernetesProvider()
    provider.configure(config(f"https://127.0.0.1:{port}"))
    return provider


@pytest.mark.parametrize(
    ("old", "new", "replaced"),
    [
        (config("https://a", "1"), config("https://b", "1"), []),
        (config("https://a", "1"), config("https://a", "2"), ["clusterIdentifier"]),
        (config("https://a", "1"), config("https://a", UNKNOWN), ["clusterIdentifier"]),
        (config("https://a", "1"), {**config("", "1"), "kubeconfig": UNKNOWN}, []),
        (config("https://a"), config("https://b"), ["kubeconfig"]),
        (config("https://a"), {"kubeconfig": UNKNOWN}, ["kubeconfig"]),
        (config("https://a"), config("https://a"), []),
    ],
)
def test_only_another_cluster_replaces_what_is_on_it(
    old: dict[str, Any], new: dict[str, Any], replaced: list[str]
) -> None:
    assert KubernetesProvider().diff_config(old, new).replaced == replaced


def test_a_preview_needs_no_kubeconfig_and_no_cluster(unreachable: KubernetesProvider) -> None:
    unknown = KubernetesProvider()
    unknown.configure({"kubeconfig": UNKNOWN})
    for provider in (unknown, unreachable):
        checked = provider.check(TOKEN, {}, INPUTS, b"")
        assert checked.failures == []
        object_id, outputs = provider.create(TOKEN, checked.inputs, True, 0)
        assert (object_id, outputs["stringData"]) == ("", Secret({"t": "canary"}))
        provider.update(TOKEN, INPUTS, INPUTS, INPUTS, True)
        provider.diff(TOKEN, INPUTS, INPUTS)


def test_a_changed_secret_with_a_fixed_name_is_deleted_before_its_replacement() -> None:
    new = {**INPUTS, "stringData": {"t": "other"}}
    difference = KubernetesProvider().diff(TOKEN, INPUTS, new)
    assert (difference.replaced, difference.delete_before_replace) == (["stringData"], True)


def test_changed_labels_update_in_place() -> None:
    new = {**INPUTS, "metadata": {**INPUTS["metadata"], "labels": {"a.b/c": "d"}}}  # type: ignore[dict-item]
    difference = KubernetesProvider().diff(TOKEN, INPUTS, new)
    assert difference.replaced == []
    assert difference.detailed == {'metadata.labels["a.b/c"]': "ADD"}


@pytest.mark.parametrize("operation", ["create", "read", "delete"])
def test_an_unreachable_cluster_is_named_with_the_way_out(
    unreachable: KubernetesProvider, operation: str
) -> None:
    calls = {
        "create": lambda: unreachable.create(TOKEN, INPUTS, False, 0),
        "read": lambda: unreachable.read(TOKEN, INPUTS, {}),
        "delete": lambda: unreachable.delete(TOKEN, {}, 0),
    }
    with pytest.raises(RefusedError, match=r"unreachable.*PULUMI_K8S_DELETE_UNREACHABLE=true"):
        calls[operation]()


def test_objects_of_an_unreachable_cluster_are_dropped_on_demand(
    unreachable: KubernetesProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    assert unreachable.read(TOKEN, INPUTS, {}) is None
    unreachable.delete(TOKEN, {}, 0)


def test_a_kubeconfig_that_is_not_known_is_an_error_only_when_it_is_needed() -> None:
    provider = KubernetesProvider()
    provider.configure({"kubeconfig": UNKNOWN})
    with pytest.raises(RefusedError, match="not known yet"):
        provider.create(TOKEN, INPUTS, False, 0)
