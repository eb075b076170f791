"""Node objects of a node pool: made, scaled and removed as GKE does."""

from __future__ import annotations

import datetime
import hashlib
from typing import Any

from rehearsal.cloud import machines
from rehearsal.cloud.kubernetes_api import ApiError, KubernetesApi
from rehearsal.cloud.model import NodePool

Object = dict[str, Any]
POOL_LABEL = "cloud.google.com/gke-nodepool"
_NODES = "/api/v1/nodes"
_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}


class NodePools:
    """The node pools of one cluster, seen as Node objects."""

    def __init__(self, api: KubernetesApi, cluster: str, project: str, kubelet_port: int) -> None:
        self._api = api
        self._cluster = cluster
        self._project = project
        self._kubelet_port = kubelet_port

    def resize(self, pool: NodePool) -> None:
        """Make the pool's nodes what it says; returns when every one of them is Ready."""
        wanted = [self._node_name(pool.name, index) for index in range(pool.node_count)]
        existing = self.names(pool.name)
        self._remove([name for name in existing if name not in wanted])
        for name in wanted:
            node = manifest(pool, name, self._project)
            if name in existing:
                change = {"metadata": {"labels": node["metadata"]["labels"]}}
                self._api.patch(f"{_NODES}/{name}", change)
            else:
                self._api.create(_NODES, node)
            self._api.patch(f"{_NODES}/{name}/status", status(pool, name, self._kubelet_port))
        self._wait_ready(set(wanted))

    def delete(self, pool_name: str) -> None:
        """Drain and remove every node of a pool."""
        self._remove(self.names(pool_name))

    def names(self, pool_name: str) -> list[str]:
        """Return the names of a pool's nodes."""
        found = self._api.get(_NODES, labelSelector=f"{POOL_LABEL}={pool_name}")
        return [node["metadata"]["name"] for node in found["items"]]

    def _node_name(self, pool_name: str, index: int) -> str:
        digest = hashlib.sha256(f"{self._cluster}/{pool_name}".encode()).hexdigest()[:8]
        return f"gke-{self._cluster[:18]}-{pool_name[:18]}-{digest}-{index}"

    def _wait_ready(self, waiting: set[str]) -> None:
        listed = self._api.get(_NODES)
        waiting -= {node["metadata"]["name"] for node in listed["items"] if _is_ready(node)}
        version = listed["metadata"]["resourceVersion"]
        while waiting:
            for kind, node in self._api.watch(_NODES, version):
                version = node["metadata"]["resourceVersion"]
                if kind == "MODIFIED" and _is_ready(node):
                    waiting.discard(node["metadata"]["name"])
                if not waiting:
                    return

    def _remove(self, names: list[str]) -> None:
        if not names:
            return
        for name in names:
            self._api.patch(f"{_NODES}/{name}", {"spec": {"unschedulable": True}})
        self._evict(set(names))
        for name in names:
            self._api.delete(f"{_NODES}/{name}")
            self._api.delete(
                f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}"
            )

    def _evict(self, names: set[str]) -> None:
        listed = self._api.get("/api/v1/pods")
        remaining = {}
        for pod in listed["items"]:
            if pod["spec"].get("nodeName") in names:
                metadata = pod["metadata"]
                path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
                remaining[metadata["uid"]] = path
        for path in remaining.values():
            self._api.delete(path)
        version = listed["metadata"]["resourceVersion"]
        while remaining:
            for kind, pod in self._api.watch("/api/v1/pods", version):
                version = pod["metadata"]["resourceVersion"]
                if kind == "DELETED":
                    remaining.pop(pod["metadata"]["uid"], None)
                if not remaining:
                    return


def manifest(pool: NodePool, name: str, project: str) -> Object:
    """Return a Node with the labels and taints that GKE gives to a host of the pool."""
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": pool.machine_type,
        "topology.kubernetes.io/zone": pool.zone,
        "topology.kubernetes.io/region": pool.zone.rpartition("-")[0],
        "cloud.google.com/machine-family": pool.machine_type.partition("-")[0],
        POOL_LABEL: pool.name,
    }
    taints = [
        taint | {"effect": _EFFECTS.get(taint["effect"], taint["effect"])} for taint in pool.taints
    ]
    accelerator = machines.accelerator(pool.machine_type)
    if pool.chips_per_host and accelerator:
        labels["cloud.google.com/gke-tpu-accelerator"] = accelerator
        labels["cloud.google.com/gke-accelerator-count"] = str(pool.chips_per_host)
        if pool.tpu_topology:
            labels["cloud.google.com/gke-tpu-topology"] = pool.tpu_topology
        if not any(taint["key"] == "google.com/tpu" for taint in taints):
            taints.append({"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels | pool.labels},
        "spec": {"providerID": f"gce://{project}/{pool.zone}/{name}", "taints": taints},
    }


def status(pool: NodePool, name: str, kubelet_port: int) -> Object:
    """Return the status that a healthy kubelet reports."""
    pressures = {
        "MemoryPressure": "KubeletHasSufficientMemory",
        "DiskPressure": "KubeletHasNoDiskPressure",
        "PIDPressure": "KubeletHasSufficientPID",
    }
    conditions = [_condition("Ready", "True", "KubeletReady")]
    conditions += [_condition(kind, "False", reason) for kind, reason in pressures.items()]
    addresses = {"InternalIP": "127.0.0.1", "Hostname": name}
    identifiers = dict.fromkeys(("machineID", "systemUUID", "bootID"), name)
    return {
        "status": {
            "capacity": machines.capacity(pool),
            "allocatable": machines.allocatable(pool),
            "conditions": conditions,
            "addresses": [{"type": kind, "address": a} for kind, a in addresses.items()],
            # Capital P: that is the field's JSON name.
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
            "nodeInfo": identifiers
            | {
                "kubeletVersion": "v1.37.2",
                "kubeProxyVersion": "",
                "osImage": "local process",
                "operatingSystem": "linux",
                "architecture": "amd64",
                "kernelVersion": "local",
                "containerRuntimeVersion": "process://1",
            },
        }
    }


def renew_lease(api: KubernetesApi, node: str) -> None:
    """Say that a node is alive, as its kubelet does every ten seconds."""
    folder = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now}
    try:
        api.patch(f"{folder}/{node}", {"spec": spec})
    except ApiError as error:
        if error.status != 404:
            raise
        metadata = {"name": node, "namespace": "kube-node-lease"}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        api.create(folder, lease | {"metadata": metadata, "spec": spec})


def _condition(kind: str, state: str, reason: str) -> Object:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    return {"type": kind, "status": state, "reason": reason, "message": reason} | times


def _is_ready(node: Object) -> bool:
    taints = node["spec"].get("taints") or []
    conditions = node.get("status", {}).get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions) and not any(
        taint["key"] == "node.kubernetes.io/not-ready" for taint in taints
    )
