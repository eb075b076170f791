"""Who the nodes and the pods are, and what they may touch: as little as they need, added only."""

from __future__ import annotations

import pulumi
from pulumi_gcp.projects import IAMMember
from pulumi_gcp.serviceaccount import Account
from pulumi_gcp.storage import BucketIAMMember

from infra.config import ClusterConfig, Home
from infra.names import SERVICE_ACCOUNT
from infra.storage import Storage

NODE_ROLES = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
# Orbax calls storage.buckets.get before a save, which objectAdmin does not contain.
BUCKET_ROLES = ("roles/storage.objectAdmin", "roles/storage.legacyBucketReader")
# From GKE's page "Authenticate to Google Cloud APIs from GKE workloads".
FEDERATED_ACCOUNT = (
    "principal://iam.googleapis.com/projects/{0}/locations/global/workloadIdentityPools/"
    "{1}.svc.id.goog/subject/ns/{2}/sa/{3}"
)


class NodeIdentity(pulumi.ComponentResource):
    """The service accounts of the nodes: one for the system pool, one for the pools that work.

    Deliberately not: any storage role on the project, any key, any role that binds for others.
    """

    system: pulumi.Output[str]
    workers: pulumi.Output[str]

    def __init__(
        self, name: str, *, place: ClusterConfig, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("maxtext:infra:NodeIdentity", name, None, opts)
        self.system = self._account(name, "system", f"{place.name}-sys-nodes", place)
        self.workers = self._account(name, "tpu", f"{place.name}-tpu-nodes", place)
        self.register_outputs({"system": self.system, "workers": self.workers})

    def _account(
        self, name: str, role: str, account_id: str, place: ClusterConfig
    ) -> pulumi.Output[str]:
        account = Account(
            f"{name}-{role}",
            account_id=account_id,
            project=place.project,
            display_name=f"Nodes of {place.name}: {role}",
            opts=pulumi.ResourceOptions(parent=self),
        )
        for granted in NODE_ROLES:
            IAMMember(
                f"{name}-{role}-{granted.rpartition('.')[2]}",
                project=place.project,
                role=granted,
                member=account.member,
                opts=pulumi.ResourceOptions(parent=self),
            )
        return account.email


class BucketAccess(pulumi.ComponentResource):
    """The bucket roles of the identity that the pods really have.

    That is the Kubernetes service account through Workload Identity Federation, or with
    `host_network` the account of the node, because such pods bypass the metadata server. It must
    depend on the cluster: the project's identity pool exists only once a cluster has been made.
    """

    def __init__(
        self,
        name: str,
        *,
        home: Home,
        storage: Storage,
        nodes: NodeIdentity,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("maxtext:infra:BucketAccess", name, None, opts)
        member = (
            pulumi.Output.format("serviceAccount:{0}", nodes.workers)
            if home.place.host_network
            else pulumi.Output.format(
                FEDERATED_ACCOUNT,
                storage.project_number,
                home.place.project,
                home.namespace,
                SERVICE_ACCOUNT,
            )
        )
        for role in BUCKET_ROLES:
            BucketIAMMember(
                f"{name}-{role.rpartition('.')[2]}",
                bucket=storage.bucket,
                role=role,
                member=member,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({"member": member})
