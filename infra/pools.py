"""The node pools: system, the TPU slices, and conversion hosts where chips are not reserved."""

from __future__ import annotations

import pulumi
from pulumi_gcp.container import (
    Cluster,
    NodePool,
    NodePoolNodeConfigArgsDict,
    NodePoolPlacementPolicyArgsDict,
)

from infra.config import Capacity, ClusterConfig
from infra.identity import NodeIdentity
from infra.labels import google_labels
from infra.names import CONVERSION_POOL, CONVERSION_TAINT, SYSTEM_POOL, tpu_pool
from infra.prices import CONVERSION_MACHINE, SYSTEM_HOSTS, SYSTEM_MACHINE

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
# Getting eight hosts of a reservation has taken more than an hour in public reports.
PATIENT = pulumi.CustomTimeouts(create="4h", update="4h", delete="2h")


class NodePools(pulumi.ComponentResource):
    """All pools of the cluster, pinned to the zone: a regional pool counts nodes per zone."""

    def __init__(
        self,
        name: str,
        *,
        place: ClusterConfig,
        cluster: Cluster,
        nodes: NodeIdentity,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("maxtext:infra:NodePools", name, None, opts)
        # Deleted one by one, not with the cluster: they bill, and if the cluster then stays, the
        # state must still know which of them are left.
        options = pulumi.ResourceOptions(parent=self, custom_timeouts=PATIENT)
        NodePool(
            f"{name}-system",
            name=SYSTEM_POOL,
            project=place.project,
            location=place.region,
            cluster=cluster.name,
            node_locations=[place.zone],
            node_count=SYSTEM_HOSTS,
            management={"auto_repair": True, "auto_upgrade": True},
            node_config=_node_config(place, SYSTEM_MACHINE, "pd-balanced", 100, nodes.system),
            opts=options,
        )
        for index in range(place.num_slices):
            self._slice_pool(name, index, place, cluster, nodes.workers, options)
        if not place.reserved:
            self._conversion_pool(name, place, cluster, nodes.workers, options)
        self.register_outputs({})

    def _slice_pool(
        self,
        name: str,
        index: int,
        place: ClusterConfig,
        cluster: Cluster,
        account: pulumi.Input[str],
        options: pulumi.ResourceOptions,
    ) -> None:
        fixed = place.reserved
        hosts = place.tpu.hosts
        # The provider plans an update of a placement policy, but GKE has no call for one: without
        # this another topology would be noted in the state and never reach the pool. The hosts of
        # the reservation and the pool's name are free only after the old pool is gone.
        replaced = pulumi.ResourceOptions(
            replace_on_changes=["placementPolicy"], delete_before_replace=True
        )
        NodePool(
            f"{name}-tpu-{index}",
            name=tpu_pool(index),
            project=place.project,
            location=place.region,
            cluster=cluster.name,
            node_locations=[place.zone],
            node_count=hosts if fixed else None,
            # GKE scales a slice all or nothing: to every host for a run, to none after it.
            initial_node_count=None if fixed else 0,
            autoscaling=(
                None
                if fixed
                else {"min_node_count": 0, "max_node_count": hosts, "location_policy": "ANY"}
            ),
            placement_policy=_placement(place),
            management={
                "auto_repair": place.capacity is not Capacity.FLEX_START,
                "auto_upgrade": True,
            },
            network_config={"enable_private_nodes": True},
            node_config=tpu_node_config(place, account),
            opts=pulumi.ResourceOptions.merge(options, replaced),
        )

    def _conversion_pool(
        self,
        name: str,
        place: ClusterConfig,
        cluster: Cluster,
        account: pulumi.Input[str],
        options: pulumi.ResourceOptions,
    ) -> None:
        disk_gb = place.tpu_disk_size_gb
        config = _node_config(place, CONVERSION_MACHINE, "pd-balanced", disk_gb, account)
        config["taints"] = [{"key": CONVERSION_TAINT, "value": "true", "effect": "NO_SCHEDULE"}]
        NodePool(
            f"{name}-conversion",
            name=CONVERSION_POOL,
            project=place.project,
            location=place.region,
            cluster=cluster.name,
            node_locations=[place.zone],
            initial_node_count=0,
            autoscaling={"min_node_count": 0, "max_node_count": 1, "location_policy": "ANY"},
            management={"auto_repair": True, "auto_upgrade": True},
            network_config={"enable_private_nodes": True},
            node_config=config,
            opts=options,
        )


def tpu_node_config(place: ClusterConfig, account: pulumi.Input[str]) -> NodePoolNodeConfigArgsDict:
    """Return the settings of a TPU host; GKE adds the TPU taint and labels by itself."""
    tpu = place.tpu
    config = _node_config(place, tpu.machine_type, tpu.disk_type, place.tpu_disk_size_gb, account)
    if place.reserved:
        config["reservation_affinity"] = {
            "consume_reservation_type": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [place.reservation or ""],
        }
    if place.capacity is Capacity.SPOT:
        config["spot"] = True
    if place.capacity is Capacity.FLEX_START:
        config["flex_start"] = True
        config["reservation_affinity"] = {"consume_reservation_type": "NO_RESERVATION"}
    return config


def _placement(place: ClusterConfig) -> NodePoolPlacementPolicyArgsDict | None:
    # GKE refuses a placement policy on a single-host slice.
    if not place.tpu.multi_host:
        return None
    return {"type": "COMPACT", "tpu_topology": place.tpu.topology}


def _node_config(
    place: ClusterConfig,
    machine_type: str,
    disk_type: str,
    disk_size_gb: int,
    account: pulumi.Input[str],
) -> NodePoolNodeConfigArgsDict:
    return {
        "machine_type": machine_type,
        "disk_type": disk_type,
        "disk_size_gb": disk_size_gb,
        "image_type": "COS_CONTAINERD",
        "service_account": account,
        "oauth_scopes": [CLOUD_PLATFORM],
        "metadata": {"disable-legacy-endpoints": "true"},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        "shielded_instance_config": {
            "enable_secure_boot": True,
            "enable_integrity_monitoring": True,
        },
        "gvnic": {"enabled": True},
        "resource_labels": google_labels(place.labels),
    }
