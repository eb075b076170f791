"""GKE node pools, each of which is a set of Node objects of the local cluster."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from typing_extensions import override

from rehearsal.google.cluster import NODE_POOL, VERSION, Cluster
from rehearsal.google.kind import Call, Kind, leaf
from rehearsal.google.machines import TPU_MACHINES, memory_gib
from rehearsal.google.reservation import require_room
from rehearsal.google.world import World
from rehearsal.plugin import RefusedError
from rehearsal.values import UNKNOWN, Values

_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}


class NodePool(Kind):
    """A pool; TPU pools must fit their topology and their reservation."""

    token = NODE_POOL
    service = "container.googleapis.com"
    computed: ClassVar[Values] = {
        "instanceGroupUrls": UNKNOWN,
        "managedInstanceGroupUrls": UNKNOWN,
        "version": UNKNOWN,
    }

    @override
    def problems(self, inputs: Values) -> list[tuple[str, str]]:
        count = inputs.get("nodeCount")
        if isinstance(count, int) and count < 0:
            return [("nodeCount", f"expected nodeCount to be at least (0), got {count}")]
        return []

    @override
    def identity(self, call: Call) -> str:
        return f"{cluster_id(call)}/nodePools/{call['name']}"

    @override
    def admit(self, world: World, call: Call) -> None:
        world.require(call.project, Cluster.token, cluster_id(call))
        node = call.get("nodeConfig", {})
        machine = node.get("machineType", "e2-medium")
        if memory_gib(machine) is None:
            raise RefusedError(
                f"googleapi: Error 400: Machine type with name '{machine}' does not exist in "
                f"zone '{zones(world, call)[0]}'., badRequest"
            )
        if "serviceAccount" in node:
            world.require_service_account(call.project, node["serviceAccount"])
        _require_fit(world, call, machine)
        require_room(world, call, node_count(world, call), zones(world, call))

    @override
    def create(self, world: World, call: Call) -> Values:
        self._register(world, call)
        zone = zones(world, call)[0]
        group = f"projects/{call.project}/zones/{zone}/instanceGroupManagers/gke-{call['name']}"
        return {
            "version": VERSION,
            "instanceGroupUrls": [f"https://www.googleapis.com/compute/v1/{group}"],
            "managedInstanceGroupUrls": [
                "https://www.googleapis.com/compute/v1/"
                + group.replace("instanceGroupManagers", "instanceGroups")
            ],
        }

    @override
    def update(self, world: World, call: Call) -> Values:
        _require_fit(world, call, call.get("nodeConfig", {}).get("machineType", "e2-medium"))
        require_room(world, call, node_count(world, call), zones(world, call))
        self._register(world, call)
        return {}

    @override
    def delete(self, world: World, call: Call) -> None:
        location, cluster = _place(call)
        world.running().delete_node_pool(call.project, location, cluster, leaf(call.id))

    def _register(self, world: World, call: Call) -> None:
        from rehearsal.cloud.client import NodePool as Nodes

        node = call.get("nodeConfig", {})
        machine = node.get("machineType", "e2-medium")
        tpu = TPU_MACHINES.get(machine)
        location, cluster = _place(call)
        nodes = Nodes(
            name=call["name"],
            # A pool over several zones registers all its nodes in the first.
            zone=zones(world, call)[0],
            machine_type=machine,
            node_count=node_count(world, call),
            labels=labels(call, node, machine),
            taints=taints(node, machine),
            chips_per_host=tpu.chips if tpu else 0,
            tpu_topology=_topology(call, machine),
            memory_gib=memory_gib(machine) or 0,
            disk_size_gb=node.get("diskSizeGb", 100),
        )
        world.running().set_node_pool(call.project, location, cluster, nodes)


def cluster_id(call: Call) -> str:
    """The id of the pool's cluster, which is named by id or by name and location."""
    cluster = call["cluster"]
    if "/" in cluster:
        return str(cluster)
    return f"projects/{call.project}/locations/{call['location']}/clusters/{cluster}"


def _place(call: Call) -> tuple[str, str]:
    parts = cluster_id(call).split("/")
    return parts[3], parts[5]


def zones(world: World, call: Call) -> list[str]:
    """Where the nodes are: the pool's zones, else the cluster's, else all three of the region.

    A regional pool counts its nodes per zone (container.v1beta1, NodePool.initialNodeCount).
    """
    own = call.get("nodeLocations")
    if own:
        return list(own)
    cluster = world.state.read(call.project, Cluster.token, cluster_id(call)) or {}
    location, _ = _place(call)
    if location.count("-") == 2:
        return [location]
    inherited = cluster.get("nodeLocations")
    return list(inherited) if inherited else [f"{location}-{letter}" for letter in "abc"]


def node_count(world: World, call: Call) -> int:
    """How many nodes the pool registers, in all zones.

    Nothing scales pools here: an autoscaled TPU slice stands at its maximum (GKE scales it all or
    nothing, when pods ask for it), any other autoscaled pool at its minimum but at least at one.
    """
    per_zone = len(zones(world, call))
    scaling = call.get("autoscaling")
    if not scaling:
        count = call.get("nodeCount", call.get("initialNodeCount", 1))
        return int(count) * per_zone
    least = scaling.get("totalMinNodeCount") or scaling.get("minNodeCount", 0) * per_zone
    most = scaling.get("totalMaxNodeCount") or scaling.get("maxNodeCount", 0) * per_zone
    machine = call.get("nodeConfig", {}).get("machineType", "")
    return int(most) if machine in TPU_MACHINES else max(int(least), 1)


def _topology(call: Call, machine: str) -> str | None:
    tpu = TPU_MACHINES.get(machine)
    if tpu is None:
        return None
    return str(call.get("placementPolicy", {}).get("tpuTopology") or tpu.one_host_topology)


def labels(call: Call, node: dict[str, Any], machine: str) -> dict[str, str]:
    """The labels of the nodes: the pool's own and what GKE adds."""
    added = {"cloud.google.com/gke-nodepool": call["name"]}
    tpu = TPU_MACHINES.get(machine)
    if tpu:
        added["cloud.google.com/gke-tpu-accelerator"] = tpu.accelerator
        added["cloud.google.com/gke-tpu-topology"] = str(_topology(call, machine))
    if node.get("spot"):
        added["cloud.google.com/gke-spot"] = "true"
    return {**node.get("labels", {}), **added}


def taints(node: dict[str, Any], machine: str) -> list[dict[str, str]]:
    """The taints of the nodes: the pool's own and GKE's on TPU hosts."""
    own = [
        {"key": taint["key"], "value": taint["value"], "effect": _EFFECTS[taint["effect"]]}
        for taint in node.get("taints", [])
    ]
    tpu = {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}
    return [*own, tpu] if machine in TPU_MACHINES else own


def _require_fit(world: World, call: Call, machine: str) -> None:
    """Refuse a slice whose hosts and topology do not agree, or that spreads over zones."""
    topology = call.get("placementPolicy", {}).get("tpuTopology")
    tpu = TPU_MACHINES.get(machine)
    if tpu is None or topology is None:
        return
    hosts = math.prod(int(side) for side in topology.split("x")) // tpu.chips
    count = node_count(world, call)
    if count != hosts or len(zones(world, call)) != 1:
        raise RefusedError(
            f"googleapi: Error 400: Invalid number of nodes for a multi-host TPU slice: topology "
            f"{topology} of {machine} needs {hosts} nodes in one zone, got {count} in "
            f"{', '.join(zones(world, call))}., badRequest"
        )
