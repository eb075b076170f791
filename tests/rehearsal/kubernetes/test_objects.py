from __future__ import annotations

import pytest

from rehearsal.kubernetes import objects
from rehearsal.plugin import RefusedError, Resource
from rehearsal.values import Secret

SECRET = Resource("urn:pulumi:s::p::kubernetes:core/v1:Secret::token")
KIND = objects.kind_of(SECRET)
INPUTS = {"metadata": {"name": "token", "namespace": "demo"}, "stringData": {"t": "canary"}}
LIVE = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token", "namespace": "demo", "uid": "u", "managedFields": []},
    "data": {"t": "Y2FuYXJ5"},
}


def test_another_type_is_refused_and_told_to_use_the_real_plugin() -> None:
    with pytest.raises(RefusedError, match=r"apps/v1:Deployment.*real plugin"):
        objects.kind_of(Resource("urn:pulumi:s::p::kubernetes:apps/v1:Deployment::x"))


def test_secret_data_is_marked_and_server_bookkeeping_left_out() -> None:
    shown = objects.outputs(KIND, INPUTS, LIVE)
    assert shown["data"] == Secret({"t": "Y2FuYXJ5"})
    assert shown["stringData"] == Secret({"t": "canary"})
    assert "managedFields" not in shown["metadata"]
    assert "canary" not in str({k: v for k, v in shown.items() if not isinstance(v, Secret)})


def test_a_changed_secret_appears_in_the_plain_form_the_program_wrote() -> None:
    live = {**LIVE, "data": {"t": "b3RoZXI="}}
    assert objects.refreshed(INPUTS, live)["stringData"] == {"t": "other"}


def test_what_others_add_to_an_object_is_not_drift() -> None:
    live = {**LIVE, "metadata": {**LIVE["metadata"], "labels": {"added": "x"}}}  # type: ignore[dict-item]
    assert objects.refreshed(INPUTS, live) == INPUTS


def test_a_missing_name_is_given_marked_and_kept() -> None:
    first = objects.complete(SECRET, {}, {}, "demo", b"seed")
    assert first["metadata"]["name"].startswith("token-")
    assert objects.is_autonamed(first)
    again = objects.complete(SECRET, first, {}, "demo", b"other")
    assert again["metadata"] == first["metadata"]


def test_a_namespaced_object_gets_the_providers_namespace_and_a_namespace_none() -> None:
    given = objects.complete(SECRET, {}, {"metadata": {"name": "a"}}, "team", b"")
    assert given["metadata"]["namespace"] == "team"
    namespace = Resource("urn:pulumi:s::p::kubernetes:core/v1:Namespace::n")
    assert "namespace" not in objects.complete(namespace, {}, {}, "team", b"")["metadata"]


@pytest.mark.parametrize(
    ("path", "immutable"),
    [
        ("metadata.name", True), ("metadata.namespace", True), ("stringData.t", True),
        ("type", True), ("metadata.labels.a", False),
    ],
)  # fmt: skip
def test_what_replaces_a_secret(path: str, immutable: bool) -> None:
    """Source: provider/pkg/provider/diff.go of pulumi-kubernetes."""
    assert objects.is_immutable(KIND, path) is immutable


def test_a_name_that_kubernetes_refuses_is_refused_in_check() -> None:
    ((field, reason),) = objects.problems({"metadata": {"name": "Demo_1"}})
    assert field == "metadata.name"
    assert "RFC 1123" in reason


def test_ids_and_paths_follow_the_scope_of_a_type() -> None:
    namespace = objects.KINDS["kubernetes:core/v1:Namespace"]
    assert objects.identity(namespace, {"name": "demo"}) == "demo"
    assert objects.path_of(namespace, {"name": "demo"}) == "/api/v1/namespaces/demo"
    metadata = INPUTS["metadata"]
    assert objects.metadata_of(KIND, objects.identity(KIND, metadata)) == metadata
    assert objects.path_of(KIND, metadata) == "/api/v1/namespaces/demo/secrets/token"
