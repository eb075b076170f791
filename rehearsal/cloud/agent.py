"""The node agent: the kubelets of all nodes of a cluster in one process.

`python -m rehearsal.cloud.agent` is started by the daemon and ends with it.
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rehearsal.cloud.kubelet import Kubelet
from rehearsal.cloud.kubernetes_api import ApiError, KubernetesApi
from rehearsal.cloud.machine import Machine
from rehearsal.cloud.nodes import renew_lease
from rehearsal.cloud.pods import Pod

Object = dict[str, Any]
_LEASE_SECONDS = 10
_RETRY_SECONDS = 0.2
_ENDED = ("Succeeded", "Failed")


class Agent:
    """Turns what the API server says about pods into processes."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._stopped = threading.Event()

    def run(self) -> None:
        """Serve every node until the process ends."""
        for kind in ("secrets", "configmaps"):
            path = f"/api/v1/{kind}"
            threading.Thread(
                target=self._watch, args=(path, self._data_changed), daemon=True
            ).start()
        threading.Thread(target=self._renew_leases, daemon=True).start()
        self._watch("/api/v1/pods", self._pod_changed, fieldSelector="spec.nodeName!=")

    def kill(self) -> None:
        """Kill every process of every pod."""
        for pod in list(self._machine.pods.values()):
            pod.kill()

    def _watch(self, path: str, changed: Callable[[str, Object], None], **query: str) -> None:
        while True:
            try:
                listed = self._machine.api.get(path, **query)
                for item in listed["items"]:
                    changed("ADDED", item)
                version = listed["metadata"]["resourceVersion"]
                while True:
                    for kind, item in self._machine.api.watch(path, version, **query):
                        version = item["metadata"]["resourceVersion"]
                        if kind != "BOOKMARK":
                            changed(kind, item)
            except (ApiError, OSError, http.client.HTTPException, ValueError) as error:
                print(f"watch of {path} begins anew: {error}", file=sys.stderr, flush=True)
                self._stopped.wait(_RETRY_SECONDS)

    def _pod_changed(self, kind: str, manifest: Object) -> None:
        metadata = manifest["metadata"]
        pod = self._machine.pods.get(metadata["uid"])
        ended = (manifest.get("status") or {}).get("phase") in _ENDED
        if kind == "DELETED":
            if pod:
                pod.delete(0)  # without grace: the object has gone already
            return
        if pod is None:
            if ended and "deletionTimestamp" not in metadata:
                return
            pod = Pod(self._machine, manifest, self._machine.next_address())
            self._machine.pods[pod.uid] = pod
            pod.start()
        if "deletionTimestamp" in metadata:
            pod.delete(metadata.get("deletionGracePeriodSeconds"))

    def _data_changed(self, kind: str, _: Object) -> None:
        if kind != "DELETED":
            for pod in list(self._machine.pods.values()):
                pod.wake()

    def _renew_leases(self) -> None:
        while True:
            try:
                for node in self._machine.api.get("/api/v1/nodes")["items"]:
                    renew_lease(self._machine.api, node["metadata"]["name"])
            except (ApiError, OSError, http.client.HTTPException):
                traceback.print_exc()
            self._stopped.wait(_LEASE_SECONDS)


def main() -> None:
    """Parse the command line, serve logs, and run pods."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.cloud.agent", description=__doc__)
    for name in ("--home", "--state", "--pki"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--project", required=True)
    for name in ("--apiserver-port", "--kubelet-port", "--keeper"):
        parser.add_argument(name, type=int, required=True)
    options = parser.parse_args()
    machine = Machine(
        api=KubernetesApi(options.apiserver_port, options.pki, "agent"),
        home=options.home,
        project=options.project,
        state=options.state,
        keeper=options.keeper,
    )
    agent = Agent(machine)

    def end(*_: object) -> None:
        agent.kill()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    kubelet = Kubelet(options.kubelet_port, machine, options.pki)
    threading.Thread(target=kubelet.serve_forever, daemon=True).start()
    agent.run()


if __name__ == "__main__":
    main()
