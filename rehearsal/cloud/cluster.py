"""One GKE cluster: control plane, JobSet controller, node agent and node pools."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import uuid
from pathlib import Path

from rehearsal.cloud import controlplane
from rehearsal.cloud.jobsetcontroller import JobSetController
from rehearsal.cloud.model import ClusterAccess, NodePool
from rehearsal.cloud.nodes import NodePools
from rehearsal.cloud.pki import Authority
from rehearsal.cloud.ports import free_ports, home_token
from rehearsal.cloud.processes import ProcessTable


class Cluster:
    """A running cluster. Its folder, and with it every trace of it, goes when it is deleted."""

    def __init__(self, home: Path, project: str, location: str, name: str, keeper: int) -> None:
        self.key = (project, location, name)
        self.uid = uuid.uuid4().hex
        self.lock = threading.Lock()
        self.node_pools: dict[str, NodePool] = {}
        self._home = home
        self._keeper = keeper
        self._folder = home / "clusters" / f"{name}-{self.uid[:8]}"
        self._folder.mkdir(parents=True, mode=0o700)
        self._logs = home / "logs" / f"cluster-{name}"
        self._logs.mkdir(parents=True, exist_ok=True)
        self._ports = free_ports(controlplane.PORT_NAMES)
        self._authority = Authority(self._folder / "pki")
        self._processes = ProcessTable(self._logs)

    def start(self) -> None:
        """Start every process; returns when JobSets can be created. Raises CloudError."""
        controlplane.issue_certificates(self._authority)
        plane = controlplane.ControlPlane(
            self._folder, self._authority, self._ports, self._processes
        )
        controller = JobSetController(self._folder, self._authority, self._ports, self._processes)
        self._api = plane.start_server(home_token(self._home))
        controller.install(self._api)
        plane.start_controllers()
        self._start_agent()
        controller.start()
        controller.wait(self._api)
        plane.wait_controllers(self._api)
        url = f"https://127.0.0.1:{self._ports['kubelet']}/healthz"
        self._processes.wait_ready("node-agent", url, context=self._api.context)
        project, _, name = self.key
        self._pools = NodePools(self._api, name, project, self._ports["kubelet"])

    def access(self) -> ClusterAccess:
        """Return how to reach the cluster as its administrator."""
        return ClusterAccess(
            endpoint=f"127.0.0.1:{self._ports['apiserver']}",
            ca_certificate=self._authority.encoded("ca.crt"),
            client_certificate=self._authority.encoded("admin.crt"),
            client_key=self._authority.encoded("admin.key"),
            uid=self.uid,
        )

    def set_node_pool(self, pool: NodePool) -> None:
        """Register or scale a node pool; returns when its nodes are Ready."""
        with self.lock:
            self._pools.resize(pool)
            self.node_pools[pool.name] = pool

    def delete_node_pool(self, name: str) -> bool:
        """Drain and remove a node pool; tells whether there was one."""
        with self.lock:
            self._pools.delete(name)
            return self.node_pools.pop(name, None) is not None

    def pids(self) -> dict[str, int]:
        """Return the cluster's processes by name."""
        return {f"{self.key[2]}/{name}": pid for name, pid in self._processes.pids().items()}

    def stop(self) -> None:
        """Kill every process of the cluster, pods included, and remove its folder."""
        self._processes.stop(["node-agent"])
        self._processes.stop()
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._folder)

    def _start_agent(self) -> None:
        command = [
            sys.executable,
            "-m",
            "rehearsal.cloud.agent",
            f"--home={self._home}",
            f"--project={self.key[0]}",
            f"--state={self._folder / 'agent'}",
            f"--pki={self._authority.folder}",
            f"--apiserver-port={self._ports['apiserver']}",
            f"--kubelet-port={self._ports['kubelet']}",
            f"--keeper={self._keeper}",
        ]
        self._processes.start("node-agent", command, directory=self._folder)
