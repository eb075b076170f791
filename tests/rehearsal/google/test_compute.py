from __future__ import annotations

import pytest

from rehearsal.plugin import RefusedError
from tests.rehearsal.google.stack import NETWORK, SUBNET, Stack, resource, valid

VPC = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
CLUSTER = "gcp:container/cluster:Cluster"


@pytest.mark.parametrize(
    "kind", [SUBNETWORK, "gcp:compute/router:Router", "gcp:compute/firewall:Firewall"]
)
def test_what_is_on_a_network_needs_it_and_keeps_it(stack: Stack, kind: str) -> None:
    stack.create_until(VPC)
    with pytest.raises(RefusedError, match=f"'{NETWORK}' was not found"):
        stack.create(kind)
    _, network = stack.create(VPC)
    object_id, outputs = stack.create(kind)
    with pytest.raises(RefusedError, match=f"already being used by '{object_id}'"):
        stack.provider.delete(resource(VPC, NETWORK), network, 0)
    stack.provider.delete(resource(kind, object_id), outputs, 0)
    stack.provider.delete(resource(VPC, NETWORK), network, 0)


def test_subnets_of_one_network_may_not_overlap(stack: Stack) -> None:
    stack.create_until(SUBNETWORK)
    stack.create(SUBNETWORK)
    with pytest.raises(RefusedError, match="conflicts with existing subnetwork 'demo'"):
        stack.create(SUBNETWORK, name="other", ipCidrRange="192.168.32.0/20")


def test_a_subnet_with_a_cluster_cannot_be_deleted(stack: Stack) -> None:
    stack.create_until(CLUSTER)
    stack.create(CLUSTER)
    with pytest.raises(RefusedError, match="already being used by"):
        stack.provider.delete(resource(SUBNETWORK, SUBNET), valid(SUBNETWORK), 0)


def test_nat_needs_its_router(stack: Stack) -> None:
    stack.create_until("gcp:compute/router:Router")
    with pytest.raises(RefusedError, match="routers/demo' was not found"):
        stack.create("gcp:compute/routerNat:RouterNat")


def test_a_name_that_is_taken_is_a_conflict(stack: Stack) -> None:
    stack.create_until(VPC)
    stack.create(VPC)
    with pytest.raises(RefusedError, match=f"Error 409: The resource '{NETWORK}' already exists"):
        stack.create(VPC)
