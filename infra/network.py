"""The network of the cluster: private nodes that reach Google and the Hub, and nothing else in."""

from __future__ import annotations

import pulumi

from infra.compute import Firewall, Network, Router, RouterNat, Subnetwork
from infra.config import ClusterConfig

NODE_RANGE = "192.168.0.0/18"
POD_RANGE = "10.4.0.0/14"
SERVICE_RANGE = "10.0.32.0/20"
CONTROL_PLANE_RANGE = "172.16.0.32/28"
JOBSET_WEBHOOK_PORT = "9443"
JAX_COORDINATOR_PORT = "8482"


class ClusterNetwork(pulumi.ComponentResource):
    """A VPC of its own in the TPU's region, with ranges for pods and services.

    Deliberately not: a second network, static addresses or rules for SSH; no pod uses them.
    """

    network: pulumi.Output[str]
    subnetwork: pulumi.Output[str]

    def __init__(
        self, name: str, *, place: ClusterConfig, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("maxtext:infra:ClusterNetwork", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        # GKE's own firewall rules can outlive the cluster for minutes; deleting waits for them.
        patient = pulumi.ResourceOptions(
            parent=self, custom_timeouts=pulumi.CustomTimeouts(delete="1h")
        )
        network = Network(f"{name}-vpc", network_name=f"{place.name}-net", opts=patient)
        subnetwork = Subnetwork(
            f"{name}-subnet",
            subnetwork_name=f"{place.name}-{place.region}",
            network=network.id,
            region=place.region,
            ip_cidr_range=NODE_RANGE,
            secondary_ranges=[
                {"rangeName": "pods", "ipCidrRange": POD_RANGE},
                {"rangeName": "services", "ipCidrRange": SERVICE_RANGE},
            ],
            opts=patient,
        )
        router = Router(
            f"{name}-router",
            router_name=f"{place.name}-router",
            network=network.id,
            region=place.region,
            opts=child,
        )
        RouterNat(
            f"{name}-nat",
            nat_name=f"{place.name}-nat",
            router=f"{place.name}-router",
            region=place.region,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[router]),
        )
        Firewall(
            f"{name}-webhook",
            firewall_name=f"{place.name}-jobset-webhook",
            network=network.id,
            # Newer control planes call from an address of the subnetwork, older from their own.
            source_ranges=[CONTROL_PLANE_RANGE, NODE_RANGE],
            allows=[{"protocol": "tcp", "ports": [JOBSET_WEBHOOK_PORT]}],
            opts=child,
        )
        Firewall(
            f"{name}-coordinator",
            firewall_name=f"{place.name}-jax-coordinator",
            network=network.id,
            source_ranges=[NODE_RANGE, POD_RANGE],
            allows=[{"protocol": "tcp", "ports": [JAX_COORDINATOR_PORT]}],
            opts=child,
        )
        self.network = network.id
        self.subnetwork = subnetwork.id
        self.register_outputs({"network": network.id, "subnetwork": subnetwork.id})
