from __future__ import annotations

import pytest

from rehearsal.plugin import RefusedError
from tests.rehearsal.google.stack import CLUSTER, Stack, resource, valid

GKE = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"


@pytest.fixture(autouse=True)
def _prepared(stack: Stack) -> None:
    stack.create_until(GKE)


def test_a_cluster_is_a_control_plane_of_the_local_cloud(stack: Stack) -> None:
    object_id, outputs = stack.create(GKE)
    assert object_id == CLUSTER
    assert list(stack.cloud.clusters) == [("rehearsal-standin", "us-east5", "demo")]
    assert outputs["endpoint"] == "127.0.0.1:4443"


def test_the_dns_endpoint_is_new_for_each_incarnation(stack: Stack) -> None:
    def endpoint() -> str:
        object_id, outputs = stack.create(GKE)
        stack.cloud.clusters["p", "l", str(len(stack.cloud.clusters))] = None  # type: ignore[assignment]
        stack.provider.delete(resource(GKE, object_id), outputs, 0)
        return str(outputs["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]["endpoint"])

    first, second = endpoint(), endpoint()
    assert first != second
    assert first.endswith(".us-east5.gke.goog")


def test_a_protected_cluster_is_not_deleted(stack: Stack) -> None:
    object_id, outputs = stack.create(GKE)
    for protected in ({**outputs, "deletionProtection": True}, valid(GKE, deletionProtection=None)):
        with pytest.raises(RefusedError, match="deletion_protection is set to true"):
            stack.provider.delete(resource(GKE, object_id), protected, 0)
    assert stack.cloud.clusters


def test_a_cluster_that_no_longer_runs_is_gone(stack: Stack) -> None:
    object_id, outputs = stack.create(GKE)
    stack.cloud.clusters.clear()
    assert stack.provider.read(resource(GKE, object_id), valid(GKE), outputs) is None


def test_the_name_of_a_cluster_that_is_gone_is_free_again_with_its_pools(stack: Stack) -> None:
    object_id, outputs = stack.create(GKE)
    stack.create(POOL)
    stack.cloud.clusters.clear()
    assert stack.provider.read(resource(GKE, object_id), valid(GKE), outputs) is None
    assert stack.create(GKE)[0] == object_id
    stack.create(POOL)


def test_a_refresh_finds_the_address_of_a_cluster_that_moved(stack: Stack) -> None:
    import dataclasses

    object_id, outputs = stack.create(GKE)
    place = ("rehearsal-standin", "us-east5", "demo")
    stack.cloud.clusters[place] = dataclasses.replace(
        stack.cloud.clusters[place], endpoint="127.0.0.1:5"
    )
    found = stack.provider.read(resource(GKE, object_id), valid(GKE), outputs)
    assert found is not None
    assert found[1]["endpoint"] == "127.0.0.1:5"
    assert found[0] == valid(GKE), "what Google computed never shows as drift"


def test_a_default_pool_is_refused_since_nothing_would_imitate_it(stack: Stack) -> None:
    with pytest.raises(RefusedError, match="set remove_default_node_pool"):
        stack.create(GKE, removeDefaultNodePool=None)


def test_the_account_of_the_temporary_pool_must_exist(stack: Stack) -> None:
    missing = "missing@rehearsal-standin.iam.gserviceaccount.com"
    with pytest.raises(RefusedError, match=f"Service account {missing} does not exist"):
        stack.create(GKE, nodeConfig={"serviceAccount": missing})
