"""One pod's life on a node, from binding to the removal of its object."""

from __future__ import annotations

import queue
import shutil
import signal
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rehearsal.cloud import podenvironment, volumes
from rehearsal.cloud.containers import Container, timestamp
from rehearsal.cloud.kubernetes_api import ApiError
from rehearsal.cloud.machine import Machine
from rehearsal.cloud.objectdata import ConfigError
from rehearsal.cloud.podstatus import pod_status

Object = dict[str, Any]
_GRACE_SECONDS = 30
_RESTART_SECONDS = 10  # the kubelet's first back-off, doubled with each restart up to 300 s


class Pod:
    """Runs a pod's containers and reports them; everything that happens to it is one queue."""

    def __init__(self, machine: Machine, manifest: Object, address: str) -> None:
        self._machine = machine
        self._manifest = manifest
        metadata = manifest["metadata"]
        self.name: str = metadata["name"]
        self.namespace: str = metadata["namespace"]
        self.uid: str = metadata["uid"]
        self._folder = machine.state / "pods" / self.uid
        self._folder.mkdir(parents=True)
        self._started = timestamp()
        self._address = address
        self._phase = "Pending"
        self._deadline: float | None = None  # monotonic; set once the pod is being deleted
        self._events: queue.Queue[Container | float | None] = queue.Queue()
        spec = manifest["spec"]
        self.init_containers = self._containers(spec.get("initContainers") or [])
        self.containers = self._containers(spec["containers"])

    def find_container(self, name: str) -> Container | None:
        """Return a container by name."""
        everyone = [*self.init_containers, *self.containers]
        return next((container for container in everyone if container.name == name), None)

    def delete(self, grace_seconds: float | None) -> None:
        """Begin the end: SIGTERM, the grace, SIGKILL, then the object goes."""
        self._events.put(float(_GRACE_SECONDS if grace_seconds is None else grace_seconds))

    def wake(self) -> None:
        """Look again whether what the pod waits for is there."""
        self._events.put(None)

    def kill(self) -> None:
        """Kill every process of the pod at once."""
        for container in [*self.init_containers, *self.containers]:
            container.stop(signal.SIGKILL)

    def start(self) -> None:
        """Begin the pod's life in a thread of its own."""
        threading.Thread(target=self._run, name=self.name, daemon=True).start()

    def _run(self) -> None:
        """Run the pod to its end and, once its deletion was asked for, remove the object."""
        try:
            self._live()
        except Exception:
            traceback.print_exc()
            self.kill()
            self._report("Failed")
        while self._deadline is None:
            self._take(None)
        self._machine.forget(self)
        path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}}
        try:
            self._machine.api.delete(path, options)
        except ApiError as error:
            if error.status != 409:  # another pod of that name has taken its place
                raise
        shutil.rmtree(self._folder, ignore_errors=True)

    def _live(self) -> None:
        for container in self.init_containers:
            self._run_together([container], "Pending")
            if container.exit_code != 0:
                break
        else:
            self._run_together(self.containers, "Running")
        everyone = [*self.init_containers, *self.containers]
        for container in everyone:
            if not container.finished:  # deleted before its turn
                ended = {"exitCode": 137, "reason": "ContainerStatusUnknown"}
                container.state = {"terminated": ended}
        self._report("Succeeded" if all(c.exit_code == 0 for c in everyone) else "Failed")

    def _run_together(self, containers: Sequence[Container], phase: str) -> None:
        for container in containers:
            self._start_container(container)
        live = {container.name for container in containers if not container.finished}
        if self._deadline is None:
            self._report(phase)
        while live:
            ended = self._take(self._deadline)
            if ended is None or not ended.finished:
                live &= {c.name for c in containers if c.running or self._deadline is None}
                continue
            if self._restarts(ended):
                self._restart(ended, phase)
            else:
                live.discard(ended.name)
                if live:
                    self._report(phase)

    def _start_container(self, container: Container) -> None:
        while self._deadline is None:
            try:
                self._spawn(container)
                return
            except ConfigError as error:
                waiting = {"reason": "CreateContainerConfigError", "message": str(error)}
                if container.state != {"waiting": waiting}:
                    container.state = {"waiting": waiting}
                    self._report(self._phase)
                self._take(None)

    def _spawn(self, container: Container) -> None:
        machine, pod = self._machine, self._manifest
        folders = volumes.prepare(machine.api, pod, self._folder / "volumes")
        paths = volumes.mount_paths(container.manifest, folders, container.termination_path)
        home = self._folder / "home"
        home.mkdir(exist_ok=True)
        variables = podenvironment.build(
            machine.api,
            self._with_address(),
            container.manifest,
            paths=paths,
            machine=machine.base_variables(home, pod["spec"].get("hostname") or self.name),
            injected=machine.injected_variables(pod),
        )
        words = [
            *(container.manifest.get("command") or []),
            *(container.manifest.get("args") or []),
        ]
        if not words:
            raise ConfigError("no command, and there is no image to take one from")
        command = [podenvironment.expand(paths.on_machine(word), variables) for word in words]
        directory = Path(paths.on_machine(container.manifest.get("workingDir") or ""))
        usable = directory.is_absolute() and directory.is_dir()
        container.start(command, variables, directory if usable else home, self._events.put)

    def _with_address(self) -> Object:
        status = (self._manifest.get("status") or {}) | {"podIP": self._address}
        return self._manifest | {"status": status}

    def _restarts(self, container: Container) -> bool:
        policy = self._manifest["spec"].get("restartPolicy", "Always")
        always = policy == "Always" and container not in self.init_containers
        failed = policy != "Never" and container.exit_code != 0
        return self._deadline is None and (always or failed)

    def _restart(self, container: Container, phase: str) -> None:
        container.prepare_restart()
        self._report(phase)
        if container.restarts > 1:
            delay = min(_RESTART_SECONDS * 2 ** (container.restarts - 2), 300)
            end = time.monotonic() + delay
            while self._deadline is None and time.monotonic() < end:
                self._take(end)
        self._start_container(container)
        self._report(phase)

    def _take(self, until: float | None) -> Container | None:
        """Handle the next event; returns the container that ended, if that was it.

        At the time `until` whatever still runs is killed if the pod is being deleted.
        """
        try:
            event = self._events.get(
                timeout=None if until is None else max(until - time.monotonic(), 0)
            )
        except queue.Empty:
            if self._deadline is not None and until == self._deadline:
                self.kill()
                self._deadline = time.monotonic() + _GRACE_SECONDS
            return None
        if isinstance(event, float):
            self._begin_deletion(event)
            return None
        return event

    def _begin_deletion(self, grace_seconds: float) -> None:
        deadline = time.monotonic() + grace_seconds
        self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)
        for container in [*self.init_containers, *self.containers]:
            container.stop(signal.SIGTERM if grace_seconds else signal.SIGKILL)

    def _report(self, phase: str) -> None:
        self._phase = phase
        status = pod_status(
            phase,
            containers=self.containers,
            init_containers=self.init_containers,
            previous=self._manifest.get("status") or {},
            address=self._address,
            started=self._started,
        )
        path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}/status"
        try:
            self._machine.api.patch(path, {"metadata": {"uid": self.uid}, "status": status})
        except ApiError as error:
            if error.status not in (404, 409):  # gone, or replaced by another of its name
                raise
        self._manifest["status"] = (self._manifest.get("status") or {}) | status

    def _containers(self, manifests: Sequence[Object]) -> list[Container]:
        reaper = self._machine.keeper
        return [Container(m, self._folder, self.uid, reaper) for m in manifests]
