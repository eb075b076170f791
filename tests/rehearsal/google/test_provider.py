"""The life of a resource as the engine drives it, on a cloud that only remembers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rehearsal.google.provider import GoogleProvider
from rehearsal.google.registry import kind_of
from rehearsal.plugin import RefusedError
from rehearsal.values import UNKNOWN, Secret, known
from tests.rehearsal.google.stack import CLUSTER, PROJECT, VALID, Stack, resource, valid

BUCKET = "gcp:storage/bucket:Bucket"
POOL = "gcp:container/nodePool:NodePool"
GKE = "gcp:container/cluster:Cluster"
SERVICE = "gcp:projects/service:Service"
NETWORK = "gcp:compute/network:Network"
FOREIGN = "my-company-production"


def test_configure_refuses_a_project_that_is_not_the_rehearsals(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="would record creations and deletions that never"):
        GoogleProvider(tmp_path).configure({"project": FOREIGN})


@pytest.mark.parametrize("operation", ["check", "create", "preview", "read", "update", "delete"])
def test_every_call_refuses_a_project_that_is_not_the_rehearsals(
    stack: Stack, operation: str
) -> None:
    """The resource may name its own project, whatever the provider was configured with."""
    ours, foreign = resource(BUCKET, "demo"), valid(BUCKET, project=FOREIGN)
    calls = {
        "check": lambda: stack.provider.check(ours, {}, foreign, b""),
        "create": lambda: stack.provider.create(ours, foreign, False, 0),
        "preview": lambda: stack.provider.create(ours, foreign, True, 0),
        "read": lambda: stack.provider.read(ours, {}, foreign),
        "update": lambda: stack.provider.update(ours, foreign, foreign, foreign, False),
        "delete": lambda: stack.provider.delete(ours, foreign, 0),
    }
    with pytest.raises(RefusedError, match=FOREIGN):
        calls[operation]()
    assert not stack.cloud.started


def test_once_storage_is_enabled_every_command_finds_the_object_store(stack: Stack) -> None:
    """The program may ask for its bucket before it creates anything."""
    stack.create(SERVICE, service="compute.googleapis.com")
    assert not stack.cloud.started
    stack.create(SERVICE, service="storage.googleapis.com")
    assert stack.cloud.started
    stack.cloud.started = False  # it ends by itself
    stack.provider.configure({"project": PROJECT})
    assert stack.cloud.started


def test_a_provider_without_a_project_is_refused(tmp_path: Path) -> None:
    provider = GoogleProvider(tmp_path)
    provider.configure({})
    with pytest.raises(RefusedError, match="refuses the project None"):
        provider.check(resource(BUCKET), {}, valid(BUCKET), b"")


def test_a_type_without_a_stand_in_is_refused_by_name(stack: Stack) -> None:
    with pytest.raises(RefusedError, match="no stand-in for gcp:sql/database:Database"):
        stack.provider.check(resource("gcp:sql/database:Database"), {}, {}, b"")


def test_every_type_is_created_read_back_unchanged_and_deleted(stack: Stack) -> None:
    for service in ("compute", "container", "iam", "cloudresourcemanager"):
        stack.create("gcp:projects/service:Service", service=f"{service}.googleapis.com")
    order = [kind for kind in VALID if "BucketIAMMember" not in kind]
    order.append("gcp:storage/bucketIAMMember:BucketIAMMember")
    made = {kind: stack.create(kind) for kind in order}
    for kind, (object_id, outputs) in made.items():
        found = stack.provider.read(resource(kind, object_id), valid(kind), outputs)
        assert found is not None, kind
        assert not stack.provider.diff(resource(kind, object_id), found[0], valid(kind)).detailed
    for kind, (object_id, outputs) in reversed(made.items()):
        stack.provider.delete(resource(kind, object_id), outputs, 0)
    assert not stack.cloud.buckets
    assert not stack.cloud.clusters
    left = [path.parent.name for path in stack.file().rglob("*.json")]
    assert set(left) <= {"projects.Service", PROJECT}, "only services and the pool's mark stay"


def test_a_preview_has_no_effect_and_leaves_computed_outputs_unknown(stack: Stack) -> None:
    for kind in VALID:
        object_id, outputs = stack.provider.create(resource(kind), valid(kind), True, 0)
        assert object_id == ""
        assert known(outputs) == (not kind_of(kind).computed)
    _, outputs = stack.provider.create(resource(GKE), valid(GKE), True, 0)
    assert outputs["endpoint"] is UNKNOWN
    dns = outputs["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]
    assert dns == {"endpoint": UNKNOWN, "allowExternalTraffic": True}
    assert not stack.cloud.started
    assert not (stack.home / "google").exists()


def test_an_update_keeps_computed_outputs_and_drops_removed_inputs(stack: Stack) -> None:
    old = valid(BUCKET, labels={"a": "b"})
    object_id, outputs = stack.create(BUCKET, labels={"a": "b"})
    for preview in (True, False):
        after = stack.provider.update(
            resource(BUCKET, object_id), outputs, old, valid(BUCKET, forceDestroy=True), preview
        )
        assert after["projectNumber"] == 424242000002
        assert after["forceDestroy"] is True
        assert "labels" not in after


def test_drift_staged_in_the_file_appears_in_the_refreshed_inputs(stack: Stack) -> None:
    object_id, outputs = stack.create(BUCKET, labels={"team": "a"})
    file = stack.file("storage.Bucket", "demo-results.json")
    document = json.loads(file.read_text())
    document["properties"]["labels"]["team"] = "somebody else"
    file.write_text(json.dumps(document))
    inputs = valid(BUCKET, labels={"team": "a"})
    found = stack.provider.read(resource(BUCKET, object_id), inputs, outputs)
    assert found is not None
    difference = stack.provider.diff(resource(BUCKET, object_id), found[0], inputs)
    assert difference.detailed == {"labels.team": "UPDATE"}


def test_a_setting_removed_by_hand_is_drift_too(stack: Stack) -> None:
    object_id, outputs = stack.create(BUCKET, labels={"team": "a"})
    file = stack.file("storage.Bucket", "demo-results.json")
    document = json.loads(file.read_text())
    del document["properties"]["labels"]
    file.write_text(json.dumps(document))
    inputs = valid(BUCKET, labels={"team": "a"})
    found = stack.provider.read(resource(BUCKET, object_id), inputs, outputs)
    assert found is not None
    difference = stack.provider.diff(resource(BUCKET, object_id), found[0], inputs)
    assert difference.detailed == {"labels.team": "ADD"}


def test_an_object_whose_file_is_removed_is_gone(stack: Stack) -> None:
    object_id, outputs = stack.create(BUCKET)
    stack.file("storage.Bucket", "demo-results.json").unlink()
    assert stack.provider.read(resource(BUCKET, object_id), valid(BUCKET), outputs) is None
    stack.provider.delete(resource(BUCKET, object_id), outputs, 0)


def test_an_import_by_id_finds_inputs_that_equal_the_program(stack: Stack) -> None:
    object_id, _ = stack.create(BUCKET, uniformBucketLevelAccess=True)
    found = stack.provider.read(resource(BUCKET, object_id), {}, {})
    assert found is not None
    program = valid(BUCKET, uniformBucketLevelAccess=True)
    assert not stack.provider.diff(resource(BUCKET, object_id), found[0], program).detailed


def test_what_fails_to_take_effect_leaves_no_record(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack.cloud, "create_bucket", lambda name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stack.create(BUCKET)
    monkeypatch.undo()
    stack.create(BUCKET)


def test_a_missing_name_is_given_once_and_kept(stack: Stack) -> None:
    checked = stack.provider.check(resource(NETWORK), {}, {}, b"seed")
    name = checked.inputs["name"]
    assert name.startswith("demo-")
    again = stack.provider.check(resource(NETWORK), checked.inputs, {}, b"other seed")
    assert again.inputs["name"] == name


def test_a_fixed_name_is_deleted_before_its_replacement(stack: Stack) -> None:
    fixed = stack.provider.diff(resource(NETWORK), valid(NETWORK), valid(NETWORK, description="x"))
    assert fixed.delete_before_replace
    given = stack.provider.check(resource(NETWORK), {}, {}, b"").inputs
    free = stack.provider.diff(resource(NETWORK), given, {**given, "description": "x"})
    assert not free.delete_before_replace


def test_the_clusters_client_key_is_marked_secret_and_nothing_else(stack: Stack) -> None:
    stack.create_until(GKE)
    _, outputs = stack.create(GKE)
    assert outputs["masterAuth"]["clientKey"] == Secret("canary-key")
    assert outputs["masterAuth"]["clusterCaCertificate"] == "Y2E="


def test_an_api_that_is_not_enabled_answers_as_google_does(stack: Stack) -> None:
    with pytest.raises(RefusedError, match=r"Error 403: compute\.googleapis\.com has not been"):
        stack.create(NETWORK)


def test_a_pool_of_a_deleted_cluster_counts_as_deleted(stack: Stack) -> None:
    stack.create_until(POOL)
    pool, pool_outputs = stack.create(POOL)
    cluster = {**valid(GKE), "deletionProtection": False}
    stack.provider.delete(resource(GKE, CLUSTER), cluster, 0)
    stack.provider.delete(resource(POOL, pool), pool_outputs, 0)
    assert stack.provider.read(resource(POOL, pool), valid(POOL), pool_outputs) is None
