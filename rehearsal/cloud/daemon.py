"""The daemon's state: the services and clusters of a home, and the operations on them."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

from rehearsal.cloud import services
from rehearsal.cloud.activity import Activity
from rehearsal.cloud.buckets import Buckets
from rehearsal.cloud.cluster import Cluster
from rehearsal.cloud.kubeconfig import write_kubeconfig
from rehearsal.cloud.model import CloudError, NodePool, plain
from rehearsal.cloud.ports import home_ports
from rehearsal.cloud.processes import ProcessTable

Key = tuple[str, str, str]


class Daemon:
    """Owner of every process of one home."""

    def __init__(self, home: Path, keeper: int, activity: Activity) -> None:
        self._home = home
        self._keeper = keeper
        self._activity = activity
        self.ports = home_ports(home)
        self._clusters: dict[Key, Cluster] = {}
        self._creating: set[Key] = set()
        self._lock = threading.Lock()
        self._processes = ProcessTable(home / "logs")
        self._buckets = Buckets(self.ports["gcs"])

    def start(self) -> None:
        """Start the services; an earlier daemon's clusters are gone with its processes."""
        shutil.rmtree(self._home / "clusters", ignore_errors=True)
        write_kubeconfig(self._home, [])
        services.start(self._home, self.ports, self._processes)

    def stop(self) -> None:
        """End every cluster and service; returns when their processes are gone."""
        with self._lock:
            clusters = list(self._clusters.values())
            self._clusters.clear()
        for cluster in clusters:
            cluster.stop()
        self._processes.stop()
        write_kubeconfig(self._home, [])

    def call(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Run one of the operations below. Raises CloudError."""
        method = getattr(self, f"do_{operation}", None)
        if method is None:
            raise CloudError("UNIMPLEMENTED", f"unknown operation {operation!r}")
        return method(**arguments)

    def do_status(self) -> dict[str, Any]:
        """Say what runs."""
        with self._lock:
            clusters = list(self._clusters.values())
        pids = self._processes.pids()
        for cluster in clusters:
            pids |= cluster.pids()
        described = [
            {
                "project": cluster.key[0],
                "location": cluster.key[1],
                "name": cluster.key[2],
                "endpoint": cluster.access().endpoint,
                "node_pools": {p.name: p.node_count for p in cluster.node_pools.values()},
            }
            for cluster in clusters
        ]
        own = {"pid": os.getpid(), "keeper": self._keeper}
        return {"running": True, **own, "processes": pids, "clusters": described}

    def do_down(self) -> None:
        """End the daemon after this request."""
        self._activity.stop()

    def do_create_bucket(self, name: str) -> None:
        """Create a bucket."""
        self._buckets.create(name)

    def do_delete_bucket(self, name: str, force: bool) -> None:
        """Delete a bucket."""
        self._buckets.delete(name, force=force)

    def do_bucket_exists(self, name: str) -> bool:
        """Tell whether a bucket exists."""
        return self._buckets.exists(name)

    def do_create_cluster(self, project: str, location: str, name: str) -> dict[str, Any]:
        """Start a cluster and answer how to reach it."""
        key = (project, location, name)
        with self._lock:
            if key in self._clusters or key in self._creating:
                raise CloudError("ALREADY_EXISTS", f"the cluster {'/'.join(key)} exists")
            self._creating.add(key)
        try:
            cluster = self._start_cluster(key)
        finally:
            with self._lock:
                self._creating.discard(key)
        return plain(cluster.access())

    def do_read_cluster(self, project: str, location: str, name: str) -> dict[str, Any] | None:
        """Answer how to reach a cluster, if there is one."""
        with self._lock:
            cluster = self._clusters.get((project, location, name))
        return plain(cluster.access()) if cluster else None

    def do_delete_cluster(self, project: str, location: str, name: str) -> None:
        """End a cluster with everything on it."""
        key = (project, location, name)
        cluster = self._find(key)
        with self._lock:
            self._clusters.pop(key, None)
        with cluster.lock:
            cluster.stop()
        self._record()

    def do_set_node_pool(
        self, project: str, location: str, cluster: str, pool: dict[str, Any]
    ) -> None:
        """Register or scale a node pool."""
        self._find((project, location, cluster)).set_node_pool(NodePool(**pool))

    def do_delete_node_pool(self, project: str, location: str, cluster: str, name: str) -> None:
        """Drain and remove a node pool."""
        if not self._find((project, location, cluster)).delete_node_pool(name):
            raise CloudError("NOT_FOUND", f"the cluster {cluster} has no node pool {name}")

    def _start_cluster(self, key: Key) -> Cluster:
        cluster = Cluster(self._home, *key, keeper=self._keeper)
        try:
            cluster.start()
        except BaseException:
            cluster.stop()
            raise
        with self._lock:
            self._clusters[key] = cluster
        self._record()
        return cluster

    def _find(self, key: Key) -> Cluster:
        with self._lock:
            cluster = self._clusters.get(key)
        if cluster is None:
            raise CloudError("NOT_FOUND", f"there is no cluster {'/'.join(key)}")
        return cluster

    def _record(self) -> None:
        with self._lock:
            found = [(c.key, c.access()) for c in self._clusters.values()]
        write_kubeconfig(self._home, found)
        self._activity.hold(len(found))


def write_record(home: Path, keeper: int) -> None:
    """Write the ids of the daemon's two processes, for a client that gets no answer."""
    record = {"pid": os.getpid(), "keeper": keeper}
    (home / "daemon.json").write_text(json.dumps(record) + "\n")
