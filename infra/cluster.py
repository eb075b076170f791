"""The GKE cluster and the Kubernetes provider bound to it."""

from __future__ import annotations

import pulumi
from pulumi_gcp.container import Cluster, ClusterPrivateClusterConfigArgsDict
from pulumi_kubernetes import Provider

from infra.config import ClusterConfig, Endpoint
from infra.identity import NodeIdentity
from infra.kubeconfig import kubeconfig
from infra.labels import google_labels
from infra.network import CONTROL_PLANE_RANGE, ClusterNetwork
from infra.pools import CLOUD_PLATFORM, NodePools

# An exclusion needs a beginning; any past day does, and a fixed one never shows as a change.
EXCLUSION_START = "2026-01-01T00:00:00Z"


class TrainingCluster(pulumi.ComponentResource):
    """A regional cluster with private nodes, Workload Identity and pools in one zone.

    Regional, so that the control plane survives a zone; its nodes do not spread, because the TPU
    capacity is in one zone. Minor and node upgrades are excluded: they would restart a run.
    """

    gke: Cluster
    kubernetes: Provider
    kubeconfig: pulumi.Output[str]
    summary: dict[str, pulumi.Input[str]]

    def __init__(
        self,
        name: str,
        *,
        place: ClusterConfig,
        network: ClusterNetwork,
        nodes: NodeIdentity,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("maxtext:infra:TrainingCluster", name, None, opts)
        self.gke = self._cluster(name, place, network, nodes)
        pools = NodePools(
            f"{name}-pools",
            place=place,
            cluster=self.gke,
            nodes=nodes,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.kubeconfig = pulumi.Output.secret(pulumi.Output.json_dumps(self._access(place)))
        self.kubernetes = Provider(
            f"{name}-kubernetes",
            kubeconfig=self.kubeconfig,
            # The DNS endpoint carries an id that is new for each incarnation of a cluster: objects
            # of a deleted cluster are not taken for those of the one made after it.
            cluster_identifier=self._dns_endpoint(),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[pools]),
        )
        self.summary = {
            "name": self.gke.name,
            "location": place.region,
            "project": place.project,
        }
        self.register_outputs(self.summary)

    def _cluster(
        self,
        name: str,
        place: ClusterConfig,
        network: ClusterNetwork,
        nodes: NodeIdentity,
    ) -> Cluster:
        by_ip = place.endpoint is Endpoint.IP
        private: ClusterPrivateClusterConfigArgsDict = {"enable_private_nodes": True}
        if by_ip:
            private["master_ipv4_cidr_block"] = CONTROL_PLANE_RANGE
        return Cluster(
            f"{name}-gke",
            name=place.name,
            project=place.project,
            location=place.region,
            node_locations=[place.zone],
            network=network.network,
            subnetwork=network.subnetwork,
            networking_mode="VPC_NATIVE",
            ip_allocation_policy={
                "cluster_secondary_range_name": "pods",
                "services_secondary_range_name": "services",
            },
            private_cluster_config=private,
            control_plane_endpoints_config={
                "dns_endpoint_config": {"allow_external_traffic": not by_ip},
                "ip_endpoints_config": {"enabled": by_ip},
            },
            master_authorized_networks_config=(
                {
                    "cidr_blocks": [
                        {"cidr_block": cidr, "display_name": "authorized"}
                        for cidr in place.authorized_cidrs
                    ]
                }
                if by_ip
                else None
            ),
            # The default pool lives for minutes; it must neither be large nor act as the
            # project's default account, which may be an editor of everything.
            remove_default_node_pool=True,
            initial_node_count=1,
            node_config={
                "machine_type": "e2-medium",
                "disk_size_gb": 30,
                "service_account": nodes.system,
                "oauth_scopes": [CLOUD_PLATFORM],
                "shielded_instance_config": {
                    "enable_secure_boot": True,
                    "enable_integrity_monitoring": True,
                },
            },
            workload_identity_config={"workload_pool": f"{place.project}.svc.id.goog"},
            release_channel={"channel": "REGULAR"},
            maintenance_policy={
                "daily_maintenance_window": {"start_time": "09:00"},
                "maintenance_exclusions": [
                    {
                        "exclusion_name": "no-minor-or-node-upgrades",
                        "start_time": EXCLUSION_START,
                        "exclusion_options": {
                            "scope": "NO_MINOR_OR_NODE_UPGRADES",
                            "end_time_behavior": "UNTIL_END_OF_SUPPORT",
                        },
                    }
                ],
            },
            resource_labels=google_labels(place.labels),
            deletion_protection=place.deletion_protection,
            opts=pulumi.ResourceOptions(
                parent=self,
                # Refused before anything is touched; Google's own refusal would come after the
                # namespace and the stages have left the state.
                protect=place.deletion_protection,
                # With the default pool removed the API reports the first pool's settings here,
                # which would look like a change that replaces the cluster (pulumi-gcp#744).
                ignore_changes=["nodeConfig", "initialNodeCount"],
                custom_timeouts=pulumi.CustomTimeouts(create="2h", update="2h", delete="2h"),
            ),
        )

    def _access(self, place: ClusterConfig) -> dict[str, object]:
        by_ip = place.endpoint is Endpoint.IP
        authority = self.gke.master_auth.cluster_ca_certificate if by_ip else None
        address = self.gke.endpoint if by_ip else self._dns_endpoint()
        return kubeconfig(
            name=place.name,
            server=pulumi.Output.format("https://{0}", address),
            certificate_authority=authority,
        )

    def _dns_endpoint(self) -> pulumi.Output[str]:
        endpoint: pulumi.Output[str] = (
            self.gke.control_plane_endpoints_config.dns_endpoint_config.endpoint
        )
        return endpoint
