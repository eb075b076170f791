"""What the tests declare: one valid resource of each type, and a cloud that only remembers."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.cloud.model import CloudError, ClusterAccess, NodePool
from rehearsal.google.provider import GoogleProvider
from rehearsal.plugin import Resource
from rehearsal.values import Values

PROJECT = "rehearsal-standin"
NUMBER = "424242000002"
EMAIL = f"demo-nodes@{PROJECT}.iam.gserviceaccount.com"
PRINCIPAL = (
    f"principal://iam.googleapis.com/projects/{NUMBER}/locations/global/workloadIdentityPools/"
    f"{PROJECT}.svc.id.goog/subject/ns/demo/sa/maxtext"
)
NETWORK = f"projects/{PROJECT}/global/networks/demo"
SUBNET = f"projects/{PROJECT}/regions/us-east5/subnetworks/demo"
CLUSTER = f"projects/{PROJECT}/locations/us-east5/clusters/demo"

SERVICES = ("compute", "container", "iam", "cloudresourcemanager")

VALID: dict[str, Values] = {
    "gcp:projects/service:Service": {"service": "compute.googleapis.com"},
    "gcp:serviceaccount/account:Account": {"accountId": "demo-nodes"},
    "gcp:projects/iAMMember:IAMMember": {
        "project": PROJECT, "role": "roles/viewer", "member": f"serviceAccount:{EMAIL}",
    },
    "gcp:serviceaccount/iAMMember:IAMMember": {
        "serviceAccountId": f"projects/{PROJECT}/serviceAccounts/{EMAIL}",
        "role": "roles/iam.serviceAccountUser", "member": "user:a@example.com",
    },
    "gcp:storage/bucket:Bucket": {"name": "demo-results", "location": "US-EAST5"},
    "gcp:storage/bucketIAMMember:BucketIAMMember": {
        "bucket": "demo-results", "role": "roles/storage.objectAdmin", "member": PRINCIPAL,
    },
    "gcp:compute/network:Network": {"name": "demo", "autoCreateSubnetworks": False},
    "gcp:compute/subnetwork:Subnetwork": {
        "name": "demo", "network": NETWORK, "region": "us-east5", "ipCidrRange": "192.168.0.0/18",
    },
    "gcp:compute/router:Router": {"name": "demo", "network": NETWORK, "region": "us-east5"},
    "gcp:compute/routerNat:RouterNat": {
        "name": "demo", "router": "demo", "region": "us-east5",
        "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
    },
    "gcp:compute/firewall:Firewall": {
        "name": "demo", "network": NETWORK, "sourceRanges": ["192.168.0.0/18"],
        "allows": [{"protocol": "tcp", "ports": ["8482"]}],
    },
    "gcp:container/cluster:Cluster": {
        "name": "demo", "location": "us-east5", "network": NETWORK, "subnetwork": SUBNET,
        "removeDefaultNodePool": True, "initialNodeCount": 1, "deletionProtection": False,
        "nodeLocations": ["us-east5-b"],
        "workloadIdentityConfig": {"workloadPool": f"{PROJECT}.svc.id.goog"},
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": True}},
    },
    "gcp:container/nodePool:NodePool": {
        "name": "tpu-0", "cluster": "demo", "location": "us-east5",
        "nodeLocations": ["us-east5-b"], "nodeCount": 8,
        "placementPolicy": {"type": "COMPACT", "tpuTopology": "4x8"},
        "nodeConfig": {
            "machineType": "ct6e-standard-4t", "diskSizeGb": 500, "serviceAccount": EMAIL,
            "reservationAffinity": {
                "consumeReservationType": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": [f"projects/{PROJECT}/reservations/rehearsal-v6e"],
            },
        },
    },
}  # fmt: skip
"""In an order in which they can be created."""


@dataclass
class RememberingCloud:
    """Stands for the local cloud: keeps what it was asked for and starts nothing."""

    buckets: set[str] = field(default_factory=set)
    full: set[str] = field(default_factory=set)
    clusters: dict[tuple[str, str, str], ClusterAccess] = field(default_factory=dict)
    pools: dict[str, NodePool] = field(default_factory=dict)
    started: bool = False

    def ensure_running(self) -> None:
        self.started = True

    def create_bucket(self, name: str) -> None:
        self.buckets.add(name)

    def delete_bucket(self, name: str, *, force: bool) -> None:
        if name in self.full and not force:
            raise CloudError("CONFLICT", f"bucket {name} is not empty")
        self.buckets.discard(name)

    def bucket_exists(self, name: str) -> bool:
        return name in self.buckets

    def create_cluster(self, project: str, location: str, name: str) -> ClusterAccess:
        access = ClusterAccess(
            endpoint="127.0.0.1:4443",
            ca_certificate="Y2E=",
            client_certificate="Y2VydA==",
            client_key="canary-key",
            uid=f"uid-{len(self.clusters)}",
        )
        self.clusters[project, location, name] = access
        return access

    def read_cluster(self, project: str, location: str, name: str) -> ClusterAccess | None:
        return self.clusters.get((project, location, name))

    def delete_cluster(self, project: str, location: str, name: str) -> None:
        if self.clusters.pop((project, location, name), None) is None:
            raise CloudError("NOT_FOUND", f"no cluster {name}")

    def set_node_pool(self, project: str, location: str, cluster: str, pool: NodePool) -> None:
        self.pools[pool.name] = pool

    def delete_node_pool(self, project: str, location: str, cluster: str, name: str) -> None:
        self.pools.pop(name, None)


def resource(kind: str, object_id: str = "") -> Resource:
    """A resource of the stack, by type token."""
    return Resource(f"urn:pulumi:s::p::{kind}::demo", object_id)


def valid(kind: str, **changed: Any) -> Values:
    """Valid inputs of a type, with some of them changed; None takes one away."""
    return {**copy.deepcopy(VALID[kind]), **changed}


class Stack:
    """A provider with its cloud, used as the engine would use it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cloud = RememberingCloud()
        self.provider = GoogleProvider(home, self.cloud)  # type: ignore[arg-type]
        self.provider.configure({"project": PROJECT, "region": "us-east5", "zone": "us-east5-b"})

    def create(self, kind: str, **changed: Any) -> tuple[str, Values]:
        """Check and create; a refused check fails the test."""
        inputs = valid(kind, **changed)
        checked = self.provider.check(resource(kind), {}, inputs, b"")
        assert not checked.failures, checked.failures
        return self.provider.create(resource(kind), checked.inputs, False, 0)

    def create_until(self, kind: str) -> None:
        """Create everything that comes before a type, and the services all of it needs."""
        for service in SERVICES:
            self.create("gcp:projects/service:Service", service=f"{service}.googleapis.com")
        for needed in VALID:
            if needed == kind:
                return
            if needed not in ("gcp:projects/service:Service", *_GRANTS):
                self.create(needed)

    def file(self, *parts: str) -> Path:
        """A file of the project's state."""
        return self.home.joinpath("google", PROJECT, *parts)


_GRANTS = ("gcp:storage/bucketIAMMember:BucketIAMMember",)  # they need the cluster
