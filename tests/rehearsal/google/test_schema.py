"""What is refused before anything exists: one case for each type, with where the rule is from."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.google import schema
from rehearsal.values import UNKNOWN
from tests.rehearsal.google.stack import VALID, Stack, resource, valid

# (type, refused inputs, property named in the refusal, source of the rule)
REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("gcp:projects/service:Service", {"service": None}, "service", "pulumi_gcp ServiceArgs"),
    ("gcp:projects/iAMMember:IAMMember", {"member": "nobody"}, "member",
     "validateIAMMember, tpgiamresource/resource_iam_member.go"),
    ("gcp:serviceaccount/account:Account", {"accountId": "short"}, "accountId",
     "iam.v1 discovery, CreateServiceAccountRequest.accountId: 6-30 characters"),
    ("gcp:serviceaccount/iAMMember:IAMMember", {"role": None}, "role", "pulumi_gcp IAMMemberArgs"),
    ("gcp:storage/bucket:Bucket", {"location": None}, "location", "pulumi_gcp BucketArgs"),
    ("gcp:storage/bucket:Bucket", {"publicAccessPrevention": "always"}, "publicAccessPrevention",
     "storage.v1 discovery, Bucket.iamConfiguration.publicAccessPrevention"),
    ("gcp:storage/bucket:Bucket", {"name": "Demo"}, "name", "cloud.google.com/storage naming"),
    ("gcp:storage/bucketIAMMember:BucketIAMMember", {"bucket": None}, "bucket",
     "pulumi_gcp BucketIAMMemberArgs"),
    ("gcp:compute/network:Network", {"name": "Demo_Net"}, "name",
     "compute.beta discovery, Network.name pattern"),
    ("gcp:compute/network:Network", {"routingMode": "WORLD"}, "routingMode",
     "compute.beta discovery, NetworkRoutingConfig.routingMode"),
    ("gcp:compute/subnetwork:Subnetwork", {"ipCidrRange": "192.168.0.1/18"}, "ipCidrRange",
     "compute.beta discovery, Subnetwork.ipCidrRange"),
    ("gcp:compute/router:Router", {"bgp": {"asn": 64512, "advertiseMode": "ALL"}},
     "bgp.advertiseMode", "compute.beta discovery, RouterBgp.advertiseMode"),
    ("gcp:compute/routerNat:RouterNat", {"natIpAllocateOption": "SOME"}, "natIpAllocateOption",
     "compute.beta discovery, RouterNat.natIpAllocateOption"),
    ("gcp:compute/firewall:Firewall", {"direction": "BOTH"}, "direction",
     "compute.beta discovery, Firewall.direction"),
    ("gcp:compute/firewall:Firewall", {"allows": None}, "allows",
     "ExactlyOneOf, compute/resource_compute_firewall.go"),
    ("gcp:container/cluster:Cluster", {"releaseChannel": {"channel": "FAST"}},
     "releaseChannel.channel", "container.v1beta1 discovery, ReleaseChannel.channel"),
    ("gcp:container/cluster:Cluster", {"name": "a" * 41}, "name",
     "ValidateFunc of name, container/resource_container_cluster.go"),
    ("gcp:container/nodePool:NodePool", {"placementPolicy": {"type": "SPREAD"}},
     "placementPolicy.type", "container.v1beta1 discovery, PlacementPolicy.type"),
    ("gcp:container/nodePool:NodePool", {"nodeCount": -1}, "nodeCount",
     "IntAtLeast(0), container/resource_container_node_pool.go"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "changed", "named", "source"), REFUSED)
def test_a_bad_input_is_refused_by_name_in_check(
    stack: Stack, kind: str, changed: dict[str, Any], named: str, source: str
) -> None:
    checked = stack.provider.check(resource(kind), {}, valid(kind, **changed), b"")
    assert [name for name, _ in checked.failures] == [named], source


def test_every_type_has_a_refused_input() -> None:
    assert {case[0] for case in REFUSED} == set(VALID) == set(schema.kinds())


@pytest.mark.parametrize("kind", VALID)
def test_the_valid_inputs_are_accepted(stack: Stack, kind: str) -> None:
    assert stack.provider.check(resource(kind), {}, valid(kind), b"").failures == []


def test_a_misspelled_nested_argument_is_refused_with_the_supported_ones() -> None:
    inputs = valid("gcp:container/nodePool:NodePool", nodeConfig={"machineTyp": "e2-medium"})
    ((name, reason),) = schema.problems("gcp:container/nodePool:NodePool", inputs)
    assert name == "nodeConfig.machineTyp"
    assert "machineType" in reason


def test_a_value_of_another_type_is_refused() -> None:
    inputs = valid("gcp:container/nodePool:NodePool", nodeCount="eight")
    ((name, reason),) = schema.problems("gcp:container/nodePool:NodePool", inputs)
    assert (name, reason) == ("nodeCount", "expected integer, got 'eight'")


def test_an_unknown_value_is_taken_on_trust() -> None:
    inputs = valid("gcp:compute/router:Router", network=UNKNOWN)
    assert schema.problems("gcp:compute/router:Router", inputs) == []
