from __future__ import annotations

from typing import Any

import pytest

from rehearsal.plugin import RefusedError
from tests.rehearsal.google.stack import VALID, Stack, resource, valid

POOL = "gcp:container/nodePool:NodePool"
NODE = VALID[POOL]["nodeConfig"]
SYSTEM = {"machineType": "e2-standard-8"}


@pytest.fixture(autouse=True)
def _prepared(stack: Stack) -> None:
    stack.create_until(POOL)


def test_a_slice_registers_its_hosts_with_what_gke_adds(stack: Stack) -> None:
    object_id, _ = stack.create(POOL)
    assert object_id.endswith("/locations/us-east5/clusters/demo/nodePools/tpu-0")
    nodes = stack.cloud.pools["tpu-0"]
    assert (nodes.node_count, nodes.zone, nodes.chips_per_host) == (8, "us-east5-b", 4)
    assert (nodes.memory_gib, nodes.disk_size_gb, nodes.tpu_topology) == (720, 500, "4x8")
    assert nodes.labels == {
        "cloud.google.com/gke-nodepool": "tpu-0",
        "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
        "cloud.google.com/gke-tpu-topology": "4x8",
    }
    assert nodes.taints == [{"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}]


def test_a_cpu_pool_gets_its_own_labels_and_taints_only(stack: Stack) -> None:
    taint = {"key": "a", "value": "b", "effect": "NO_EXECUTE"}
    config = {**SYSTEM, "labels": {"x": "y"}, "taints": [taint]}
    stack.create(POOL, name="system", nodeCount=1, placementPolicy=None, nodeConfig=config)
    nodes = stack.cloud.pools["system"]
    assert (nodes.node_count, nodes.memory_gib, nodes.tpu_topology) == (1, 32, None)
    assert nodes.labels == {"x": "y", "cloud.google.com/gke-nodepool": "system"}
    assert nodes.taints == [{"key": "a", "value": "b", "effect": "NoExecute"}]


def test_a_regional_pool_without_zones_counts_its_nodes_in_each(stack: Stack) -> None:
    """Eight become twenty-four: container.v1beta1, NodePool.initialNodeCount is per zone."""
    file = stack.file("container.Cluster", "locations~us-east5~clusters~demo.json")
    file.write_text(file.read_text().replace('"nodeLocations"', '"formerly"'))
    stack.create(POOL, name="system", placementPolicy=None, nodeLocations=None, nodeConfig=SYSTEM)
    assert stack.cloud.pools["system"].node_count == 24


@pytest.mark.parametrize(
    ("machine", "scaling", "nodes"),
    [
        ("ct6e-standard-4t", {"minNodeCount": 0, "maxNodeCount": 8}, 8),
        ("n2-highmem-32", {"minNodeCount": 0, "maxNodeCount": 3}, 1),
        ("e2-standard-8", {"totalMinNodeCount": 2, "totalMaxNodeCount": 10}, 2),
    ],
)
def test_an_autoscaled_pool_stands_where_pods_would_bring_it(
    stack: Stack, machine: str, scaling: dict[str, int], nodes: int
) -> None:
    config = {"machineType": machine}
    stack.create(POOL, nodeCount=None, placementPolicy=None, autoscaling=scaling, nodeConfig=config)
    assert stack.cloud.pools["tpu-0"].node_count == nodes


@pytest.mark.parametrize("changed", [
    {"nodeCount": 4}, {"nodeLocations": ["us-east5-a", "us-east5-b"]},
    {"placementPolicy": {"type": "COMPACT", "tpuTopology": "4x4"}},
])  # fmt: skip
def test_a_slice_whose_hosts_and_topology_disagree_is_refused(
    stack: Stack, changed: dict[str, Any]
) -> None:
    with pytest.raises(RefusedError, match="Invalid number of nodes for a multi-host TPU slice"):
        stack.create(POOL, **changed)


def test_a_machine_type_that_does_not_exist_is_refused(stack: Stack) -> None:
    with pytest.raises(RefusedError, match="'ct6e-standard-5t' does not exist in zone"):
        stack.create(POOL, nodeConfig={"machineType": "ct6e-standard-5t"})


def test_a_pool_needs_its_cluster_and_its_account(stack: Stack) -> None:
    with pytest.raises(RefusedError, match="clusters/other' was not found"):
        stack.create(POOL, cluster="other")
    missing = "missing@rehearsal-standin.iam.gserviceaccount.com"
    with pytest.raises(RefusedError, match=f"{missing} does not exist"):
        stack.create(POOL, nodeConfig={**NODE, "serviceAccount": missing})


def test_a_changed_size_scales_the_nodes(stack: Stack) -> None:
    changed = {"name": "system", "placementPolicy": None, "nodeConfig": SYSTEM}
    object_id, outputs = stack.create(POOL, **changed, nodeCount=1)
    stack.provider.update(
        resource(POOL, object_id),
        outputs,
        valid(POOL, **changed, nodeCount=1),
        valid(POOL, **changed, nodeCount=3),
        False,
    )
    assert stack.cloud.pools["system"].node_count == 3


def test_a_deleted_pool_takes_its_nodes_away(stack: Stack) -> None:
    object_id, outputs = stack.create(POOL)
    stack.provider.delete(resource(POOL, object_id), outputs, 0)
    assert not stack.cloud.pools
