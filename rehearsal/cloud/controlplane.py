"""The real Kubernetes control plane on loopback: command lines and start order."""

from __future__ import annotations

from pathlib import Path

from rehearsal.cloud import programs
from rehearsal.cloud.kubernetes_api import KubernetesApi
from rehearsal.cloud.pki import Authority, write_private
from rehearsal.cloud.processes import ProcessTable

PORT_NAMES = (
    "etcd",
    "etcd-peer",
    "apiserver",
    "controller-manager",
    "scheduler",
    "kubelet",
    "webhook",
    "jobset-metrics",
    "jobset-health",
)
# The endpoint-slice controller is left out: pods have no addresses of their own here.
CONTROLLERS = (
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "job-controller",
    "node-lifecycle-controller",
    "deployment-controller",
    "replicaset-controller",
    "clusterrole-aggregation-controller",
    "ttl-after-finished-controller",
    "pod-garbage-collector-controller",
    "taint-eviction-controller",
)
_SERVER_NAMES = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]


def issue_certificates(authority: Authority) -> None:
    """Issue one identity for each program, and the administrator's."""
    loopback = ["127.0.0.1"]
    authority.issue(
        "apiserver",
        "kube-apiserver",
        dns_names=_SERVER_NAMES,
        addresses=["127.0.0.1", "10.0.0.1"],
    )
    authority.issue("kubelet-client", "kube-apiserver-kubelet-client")
    authority.issue("kubelet", "kubelet", dns_names=["localhost"], addresses=loopback)
    authority.issue("webhook", "jobset-webhook", dns_names=["localhost"], addresses=loopback)
    authority.issue("admin", "admin", organizations=["system:masters"])
    authority.issue("agent", "node-agent", organizations=["system:masters"])
    authority.issue("controller-manager", "system:kube-controller-manager")
    authority.issue("scheduler", "system:kube-scheduler")
    authority.issue_key_pair("service-account")


class ControlPlane:
    """etcd, API server, controller manager and scheduler of one cluster."""

    def __init__(
        self, folder: Path, authority: Authority, ports: dict[str, int], processes: ProcessTable
    ) -> None:
        self._folder = folder
        self._authority = authority
        self._ports = ports
        self._processes = processes
        self._server = f"https://127.0.0.1:{ports['apiserver']}"

    def start_server(self, token: str) -> KubernetesApi:
        """Start etcd and the API server; returns the administrator's client when it is ready."""
        write_private(self._folder / "tokens.csv", f'{token},rehearsal,1,"system:masters"'.encode())
        self._start("etcd", self._etcd())
        self._processes.wait_ready("etcd", f"http://127.0.0.1:{self._ports['etcd']}/health")
        self._start("kube-apiserver", self._apiserver())
        api = KubernetesApi(self._ports["apiserver"], self._authority.folder, "admin")
        self._processes.wait_ready("kube-apiserver", f"{self._server}/readyz", context=api.context)
        return api

    def start_controllers(self) -> None:
        """Start controller manager and scheduler."""
        self._start("kube-controller-manager", self._controller_manager())
        self._start("kube-scheduler", self._scheduler())

    def wait_controllers(self, api: KubernetesApi) -> None:
        """Return when both controllers work and pods can be created in a fresh namespace."""
        for name in ("controller-manager", "scheduler"):
            url = f"https://127.0.0.1:{self._ports[name]}/healthz"
            self._processes.wait_ready(f"kube-{name}", url, context=api.context)
        default = f"{self._server}/api/v1/namespaces/default"
        for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            self._processes.wait_ready(
                "kube-controller-manager", f"{default}/{path}", context=api.context
            )

    def _start(self, name: str, command: list[str]) -> None:
        self._processes.start(name, command, directory=self._folder)

    def _etcd(self) -> list[str]:
        client = f"http://127.0.0.1:{self._ports['etcd']}"
        peer = f"http://127.0.0.1:{self._ports['etcd-peer']}"
        return [
            *programs.kube("etcd"),
            "--name=local",
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=local={peer}",
            "--log-level=warn",
            "--unsafe-no-fsync",  # nothing outlives the daemon, so nothing has to be durable
        ]

    def _apiserver(self) -> list[str]:
        pki = self._authority.folder
        return [
            *programs.kube("kube-apiserver"),
            f"--etcd-servers=http://127.0.0.1:{self._ports['etcd']}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._ports['apiserver']}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            *self._tls_flags("apiserver"),
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--anonymous-auth=false",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki / 'service-account.pub'}",
            f"--service-account-signing-key-file={pki / 'service-account.key'}",
            f"--kubelet-client-certificate={pki / 'kubelet-client.crt'}",
            f"--kubelet-client-key={pki / 'kubelet-client.key'}",
            f"--kubelet-certificate-authority={pki / 'ca.crt'}",
            "--kubelet-preferred-address-types=InternalIP",
            "--profiling=false",
        ]

    def _controller_manager(self) -> list[str]:
        pki = self._authority.folder
        return [
            *programs.kube("kube-controller-manager"),
            *self._controller_flags("controller-manager"),
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={pki / 'service-account.key'}",
            f"--root-ca-file={pki / 'ca.crt'}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--kube-api-qps=500",
            "--kube-api-burst=500",
        ]

    def _scheduler(self) -> list[str]:
        return [*programs.kube("kube-scheduler"), *self._controller_flags("scheduler")]

    def _controller_flags(self, name: str) -> list[str]:
        kubeconfig = self._folder / f"{name}.kubeconfig"
        self._authority.write_kubeconfig(kubeconfig, self._server, name)
        return [
            f"--kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._ports[name]}",
            *self._tls_flags("apiserver"),
            "--leader-elect=false",
            "--profiling=false",
        ]

    def _tls_flags(self, leaf: str) -> list[str]:
        pki = self._authority.folder
        return [
            f"--tls-cert-file={pki / leaf}.crt",
            f"--tls-private-key-file={pki / leaf}.key",
            f"--client-ca-file={pki / 'ca.crt'}",
        ]
