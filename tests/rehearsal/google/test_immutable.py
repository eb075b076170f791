"""What replaces and what changes in place, with where each rule is from."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.google.immutable import FIELDS, shrinks
from rehearsal.values import UNKNOWN
from tests.rehearsal.google.stack import VALID, Stack, resource, valid

POOL = "gcp:container/nodePool:NodePool"
NODE = VALID[POOL]["nodeConfig"]
FORCE_NEW = "ForceNew in terraform-provider-google-beta, services/"

# (type, change, source)
REPLACED: list[tuple[str, dict[str, Any], str]] = [
    ("gcp:projects/service:Service", {"service": "iam.googleapis.com"},
     "resourcemanager/resource_google_project_service.go"),
    ("gcp:projects/iAMMember:IAMMember", {"role": "roles/editor"},
     "tpgiamresource/resource_iam_member.go"),
    ("gcp:serviceaccount/account:Account", {"accountId": "other-nodes"},
     "resourcemanager/resource_google_service_account.go"),
    ("gcp:serviceaccount/iAMMember:IAMMember", {"member": "user:b@example.com"},
     "tpgiamresource/resource_iam_member.go"),
    ("gcp:storage/bucket:Bucket", {"location": "US"}, "storage/resource_storage_bucket.go"),
    ("gcp:storage/bucketIAMMember:BucketIAMMember", {"bucket": "other"},
     "storage/iam_storage_bucket.go"),
    ("gcp:compute/network:Network", {"autoCreateSubnetworks": True},
     "compute/resource_compute_network.go"),
    ("gcp:compute/subnetwork:Subnetwork", {"network": "other"},
     "compute/resource_compute_subnetwork.go"),
    ("gcp:compute/router:Router", {"network": "other"}, "compute/resource_compute_router.go"),
    ("gcp:compute/routerNat:RouterNat", {"router": "other"},
     "compute/resource_compute_router_nat.go"),
    ("gcp:compute/firewall:Firewall", {"direction": "EGRESS"},
     "compute/resource_compute_firewall.go"),
    ("gcp:container/cluster:Cluster", {"datapathProvider": "ADVANCED_DATAPATH"},
     "container/resource_container_cluster.go"),
    (POOL, {"nodeConfig": {**NODE, "spot": True}}, "container/node_config.go, spot"),
    (POOL, {"nodeConfig": {**NODE, "serviceAccount": UNKNOWN}}, "container/node_config.go"),
    (POOL, {"placementPolicy": {"type": "COMPACT", "tpuTopology": "4x4"}},
     "container.v1beta1 discovery: UpdateNodePoolRequest has no placementPolicy"),
]  # fmt: skip

IN_PLACE: list[tuple[str, dict[str, Any], str]] = [
    ("gcp:storage/bucket:Bucket", {"labels": {"team": "a"}}, "no mark on labels"),
    ("gcp:storage/bucket:Bucket", {"forceDestroy": True}, "no mark on force_destroy"),
    ("gcp:compute/subnetwork:Subnetwork", {"ipCidrRange": "192.168.0.0/17"},
     "IsShrinkageIpCidr: growing is in place"),
    ("gcp:container/cluster:Cluster", {"deletionProtection": True}, "no mark"),
    (POOL, {"nodeCount": 4}, "SetNodePoolSize"),
    (POOL, {"nodeConfig": {**NODE, "machineType": "ct6e-standard-8t"}},
     "UpdateNodePoolRequest.machineType"),
    (POOL, {"nodeConfig": {**NODE, "labels": {"a": "b"}}}, "UpdateNodePoolRequest.labels"),
    (POOL, {"nodeConfig": {**NODE, "resourceLabels": {"a": "b"}}},
     "UpdateNodePoolRequest.resourceLabels"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "changed", "source"), REPLACED)
def test_an_immutable_field_replaces(
    stack: Stack, kind: str, changed: dict[str, Any], source: str
) -> None:
    difference = stack.provider.diff(resource(kind, "x"), valid(kind), valid(kind, **changed))
    assert difference.replaced == sorted(changed), f"{FORCE_NEW}{source}"


@pytest.mark.parametrize(("kind", "changed", "source"), IN_PLACE)
def test_a_mutable_field_changes_in_place(
    stack: Stack, kind: str, changed: dict[str, Any], source: str
) -> None:
    difference = stack.provider.diff(resource(kind, "x"), valid(kind), valid(kind, **changed))
    assert difference.changed == sorted(changed), source
    assert difference.replaced == [], source


def test_every_type_has_a_replaced_input() -> None:
    assert {case[0] for case in REPLACED} == set(VALID) == set(FIELDS)


@pytest.mark.parametrize(
    ("old", "new", "smaller"),
    [("10.0.0.0/24", "10.0.0.0/23", False), ("10.0.0.0/23", "10.0.0.0/24", True),
     ("10.0.0.0/24", "10.1.0.0/24", True), ("10.0.0.0/24", "10.0.0.0/24", False)],
)  # fmt: skip
def test_a_subnet_is_replaced_only_when_its_range_shrinks_or_moves(
    old: str, new: str, smaller: bool
) -> None:
    assert shrinks({"ipCidrRange": old}, {"ipCidrRange": new}) is smaller
