"""What the pods of one cluster share: the API, addresses, ports and the trainer's variables."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rehearsal import trainers
from rehearsal.cloud.kubernetes_api import KubernetesApi
from rehearsal.cloud.ports import free_ports

if TYPE_CHECKING:
    from rehearsal.cloud.pods import Pod

Object = dict[str, Any]
_JOB_LABEL = "batch.kubernetes.io/controller-uid"


class Machine:
    """The one machine that stands for every host of a cluster."""

    def __init__(
        self, *, api: KubernetesApi, home: Path, project: str, state: Path, keeper: int
    ) -> None:
        self.api = api
        self.state = state
        self.keeper = keeper
        self.pods: dict[str, Pod] = {}
        self._home = home
        self._project = project
        self._lock = threading.Lock()
        self._coordinator_ports: dict[str, int] = {}
        self._addresses = 0

    def base_variables(self, home: Path, hostname: str) -> dict[str, str]:
        """Return what an image and the container runtime would give."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "HOSTNAME": hostname,
            "LANG": "C.UTF-8",
        }

    def injected_variables(self, pod: Object) -> dict[str, str | None]:
        """Return what makes the trainer run here instead of on a TPU host."""
        port = self._coordinator_port(pod)
        return trainers.pod_environment(self._home, self._project, pod, port)

    def next_address(self) -> str:
        """Return a pod address; nothing listens there, since pods share the machine's loopback."""
        with self._lock:
            self._addresses += 1
            number = self._addresses
        return f"10.244.{number // 250 % 250}.{number % 250 + 1}"

    def forget(self, pod: Pod) -> None:
        """Drop a pod whose object is about to go."""
        self.pods.pop(pod.uid, None)

    def _coordinator_port(self, pod: Object) -> int:
        metadata = pod["metadata"]
        job = (metadata.get("labels") or {}).get(_JOB_LABEL, metadata["uid"])
        with self._lock:
            if job not in self._coordinator_ports:
                taken = set(self._coordinator_ports.values())
                port = free_ports(["coordinator"])["coordinator"]
                while port in taken:
                    port = free_ports(["coordinator"])["coordinator"]
                self._coordinator_ports[job] = port
            return self._coordinator_ports[job]
