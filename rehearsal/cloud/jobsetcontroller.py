"""The real JobSet controller beside a cluster, as `jobset_controller: existing` finds it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from rehearsal.cloud import jobsetmanifests, programs
from rehearsal.cloud.kubernetes_api import KubernetesApi
from rehearsal.cloud.pki import Authority
from rehearsal.cloud.processes import ProcessTable

_MANAGER = "local-cloud"
_ACCOUNT = f"system:serviceaccount:{jobsetmanifests.NAMESPACE}:jobset-controller-manager"


class JobSetController:
    """CRD, access, process and webhooks, in the order in which they need each other."""

    def __init__(
        self, folder: Path, authority: Authority, ports: dict[str, int], processes: ProcessTable
    ) -> None:
        self._folder = folder
        self._authority = authority
        self._ports = ports
        self._processes = processes

    def install(self, api: KubernetesApi) -> None:
        """Install the CRD, the service account and its rights; returns when JobSets are served.

        Controllers that start before find no JobSet kind and look again only after a while: the
        JobSet controller after ten seconds, the garbage collector after thirty, and until then a
        deletion in the foreground does not end.
        """
        config = programs.jobset_config()
        for document in jobsetmanifests.definitions(config) + jobsetmanifests.access(config):
            api.apply(jobsetmanifests.path_of(document), document, manager=_MANAGER)
        for path in ("/apis/jobset.x-k8s.io/v1alpha2", "/apis/jobset.x-k8s.io/v1alpha2/jobsets"):
            url = f"https://127.0.0.1:{self._ports['apiserver']}{path}"
            self._processes.wait_ready("kube-apiserver", url, context=api.context)

    def start(self) -> None:
        """Start the controller with its service account's rights."""
        kubeconfig = self._folder / "jobset.kubeconfig"
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{jobsetmanifests.NAMESPACE}"]
        self._authority.issue("jobset", _ACCOUNT, organizations=groups)
        server = f"https://127.0.0.1:{self._ports['apiserver']}"
        self._authority.write_kubeconfig(kubeconfig, server, "jobset")
        command = [
            programs.jobset(),
            f"--kubeconfig={kubeconfig}",
            f"--config={self._write_config()}",
            "--zap-log-level=2",
        ]
        self._processes.start("jobset", command, directory=self._folder)

    def wait(self, api: KubernetesApi) -> None:
        """Return when the controller serves its webhooks and the API server calls them."""
        url = f"http://127.0.0.1:{self._ports['jobset-health']}/readyz"
        self._processes.wait_ready("jobset", url)
        for document in jobsetmanifests.webhooks(
            programs.jobset_config(),
            port=self._ports["webhook"],
            authority=self._authority.encoded("ca.crt"),
        ):
            api.apply(jobsetmanifests.path_of(document), document, manager=_MANAGER)

    def _write_config(self) -> Path:
        certificates = self._folder / "jobset-certificates"
        certificates.mkdir()
        for suffix in ("crt", "key"):
            shutil.copy(
                self._authority.folder / f"webhook.{suffix}", certificates / f"tls.{suffix}"
            )
        metrics = f"127.0.0.1:{self._ports['jobset-metrics']}"
        health = f"127.0.0.1:{self._ports['jobset-health']}"
        config = {
            "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
            "kind": "Configuration",
            "webhook": {
                "host": "127.0.0.1",
                "port": self._ports["webhook"],
                "certDir": str(certificates),
            },
            "metrics": {"bindAddress": metrics, "certDir": str(certificates)},
            "health": {"healthProbeBindAddress": health},
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            "clientConnection": {"qps": 500, "burst": 500},
        }
        path = self._folder / "jobset-config.yaml"
        path.write_text(json.dumps(config))  # JSON is YAML
        return path
