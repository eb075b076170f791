"""GKE clusters, each of which is a control plane of the local cloud."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import override

from rehearsal.google.compute import CLUSTER, Network, network_id
from rehearsal.google.iam import POOL_FILE
from rehearsal.google.kind import Call, Kind, leaf
from rehearsal.google.world import World
from rehearsal.plugin import RefusedError
from rehearsal.values import UNKNOWN, Values

if TYPE_CHECKING:
    from rehearsal.cloud.client import ClusterAccess

# resource_container_cluster.go of terraform-provider-google-beta, `name`.
_NAME: Final = re.compile(r"(?=.{1,40}$)[a-z]([a-z0-9-]*[a-z0-9])?")
NODE_POOL: Final = "gcp:container/nodePool:NodePool"
VERSION: Final = "1.37.2-gke.1000000"


class Cluster(Kind):
    """A cluster; its endpoint, certificates and DNS name are new for each incarnation."""

    token = CLUSTER
    service = "container.googleapis.com"
    defaults: ClassVar[Values] = {"deletionProtection": True, "networkingMode": "VPC_NATIVE"}
    computed: ClassVar[Values] = {
        "endpoint": UNKNOWN, "masterAuth": UNKNOWN, "selfLink": UNKNOWN, "masterVersion": UNKNOWN,
        "labelFingerprint": UNKNOWN, "servicesIpv4Cidr": UNKNOWN, "clusterIpv4Cidr": UNKNOWN,
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": UNKNOWN}},
        "privateClusterConfig": {"publicEndpoint": UNKNOWN, "privateEndpoint": UNKNOWN},
    }  # fmt: skip
    secrets = ("masterAuth.clientKey",)

    @override
    def problems(self, inputs: Values) -> list[tuple[str, str]]:
        name = inputs.get("name")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            reason = (
                f"{name!r} is no cluster name: at most 40 lower-case letters, digits and hyphens, "
                f"beginning with a letter, not ending with a hyphen"
            )
            return [("name", reason)]
        return []

    @override
    def identity(self, call: Call) -> str:
        return f"projects/{call.project}/locations/{call['location']}/clusters/{call['name']}"

    @override
    def admit(self, world: World, call: Call) -> None:
        if not call.get("removeDefaultNodePool"):
            raise RefusedError(
                "the rehearsal makes no default pool: set remove_default_node_pool and declare "
                "the pools as NodePool"
            )
        if call.get("network"):
            world.require(call.project, Network.token, network_id(call))
        account = call.get("nodeConfig", {}).get("serviceAccount")
        if account:
            world.require_service_account(call.project, account)

    @override
    def create(self, world: World, call: Call) -> Values:
        access = world.running().create_cluster(call.project, call["location"], call["name"])
        if call.get("workloadIdentityConfig"):
            pool = {"pool": f"{call.project}.svc.id.goog"}
            world.state.write_document(call.project, POOL_FILE, document=pool)
        return {
            **_reached(call, access),
            "selfLink": f"https://container.googleapis.com/v1/{self.identity(call)}",
            "masterVersion": VERSION,
            "labelFingerprint": access.uid[:8],
        }

    @override
    def read(self, world: World, call: Call) -> Values | None:
        access = world.running().read_cluster(*_place(call))
        if access is None:
            # It ended with the local cloud; its name and its subnet have to be free again.
            world.state.delete(call.project, self.token, call.id)
            _forget_pools(world, call)
            return None
        return _reached(call, access)

    @override
    def may_delete(self, world: World, call: Call) -> None:
        if call.get("deletionProtection", True):
            raise RefusedError(
                "Cannot destroy cluster because deletion_protection is set to true. Set it to "
                "false to proceed with cluster deletion."
            )

    @override
    def delete(self, world: World, call: Call) -> None:
        world.running().delete_cluster(*_place(call))
        _forget_pools(world, call)


def _forget_pools(world: World, call: Call) -> None:
    for entry in world.state.entries(call.project, NODE_POOL):
        if entry.id.startswith(f"{call.id}/"):
            world.state.delete(call.project, NODE_POOL, entry.id)


def _place(call: Call) -> tuple[str, str, str]:
    return call.project, call.id.split("/")[3], leaf(call.id)


def _reached(call: Call, access: ClusterAccess) -> Values:
    """How this incarnation is reached; the DNS name has its uid, as on GKE."""
    uid = access.uid.replace("-", "")
    region = "-".join(call["location"].split("-")[:2])
    dns: dict[str, Any] = {"endpoint": f"gke-{uid}-{call.number}.{region}.gke.goog"}
    return {
        "endpoint": access.endpoint,
        "masterAuth": {
            "clusterCaCertificate": access.ca_certificate,
            "clientCertificate": access.client_certificate,
            "clientKey": access.client_key,
        },
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": dns},
        "privateClusterConfig": {
            "publicEndpoint": access.endpoint,
            "privateEndpoint": access.endpoint,
        },
    }
