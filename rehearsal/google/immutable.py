"""Which fields cannot change in place, so that the double replaces what the real provider would.

Read from the `ForceNew` marks of terraform-provider-google-beta (services/<product>/..., commit
93c65b2d of 2026-08-21), which pulumi-gcp 10.2 carries. A path stands for everything inside it.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from rehearsal.values import UNKNOWN, Values

_IAM_MEMBER: Final = {"role", "member", "condition"}  # tpgiamresource/resource_iam_member.go

FIELDS: Final[dict[str, set[str]]] = {
    "gcp:projects/service:Service": {"service", "project"},
    "gcp:projects/iAMMember:IAMMember": {*_IAM_MEMBER, "project"},
    "gcp:serviceaccount/account:Account": {"accountId", "project"},
    "gcp:serviceaccount/iAMMember:IAMMember": {*_IAM_MEMBER, "serviceAccountId"},
    "gcp:storage/bucketIAMMember:BucketIAMMember": {*_IAM_MEMBER, "bucket"},
    "gcp:storage/bucket:Bucket": {
        "name", "location", "project", "enableObjectRetention",
        "customPlacementConfig.dataLocations", "hierarchicalNamespace",
    },
    "gcp:compute/network:Network": {
        "name", "autoCreateSubnetworks", "description", "internalIpv6Range", "networkProfile",
        "params", "project",
    },
    "gcp:compute/subnetwork:Subnetwork": {
        "name", "network", "description", "externalIpv6Prefix", "internalIpv6Prefix", "params",
        "region", "reservedInternalRange", "resolveSubnetMask", "project",
    },
    "gcp:compute/router:Router": {
        "name", "encryptedInterconnectRouter", "nccGateway", "network", "params", "region",
        "project",
    },
    "gcp:compute/routerNat:RouterNat": {
        "name", "router", "endpointTypes", "initialNatIps", "region", "type", "project",
    },
    "gcp:compute/firewall:Firewall": {"name", "direction", "params", "project"},
    "gcp:container/cluster:Cluster": {
        "name", "location", "clusterIpv4Cidr", "description", "enableKubernetesAlpha", "enableTpu",
        "tpuConfig", "enableAutopilot", "initialNodeCount", "confidentialNodes",
        "clusterAutoscaling.autoProvisioningDefaults.bootDiskKmsKey",
        "masterAuth.clientCertificateConfig", "network", "project", "subnetwork",
        "ipAllocationPolicy.clusterIpv4CidrBlock", "ipAllocationPolicy.servicesIpv4CidrBlock",
        "ipAllocationPolicy.clusterSecondaryRangeName",
        "ipAllocationPolicy.servicesSecondaryRangeName",
        "ipAllocationPolicy.podCidrOverprovisionConfig", "networkingMode",
        "privateClusterConfig.masterIpv4CidrBlock",
        "privateClusterConfig.privateEndpointSubnetwork", "defaultMaxPodsPerNode",
        "datapathProvider", "dataplaneOptimizationMode", "userManagedKeysConfig.clusterCa",
        "userManagedKeysConfig.etcdApiCa", "userManagedKeysConfig.etcdPeerCa",
        "userManagedKeysConfig.aggregationCa",
    },
    "gcp:container/nodePool:NodePool": {
        "name", "namePrefix", "cluster", "location", "project", "maxPodsPerNode",
        "initialNodeCount", "queuedProvisioning",
        # Only the block and policyName carry the mark, but the API has no call that changes the
        # rest (UpdateNodePoolRequest of container.v1beta1 has no placementPolicy).
        "placementPolicy",
        "networkConfig.acceleratorNetworkProfile", "networkConfig.createPodRange",
        "networkConfig.podRange", "networkConfig.podIpv4CidrBlock", "networkConfig.subnetwork",
        "networkConfig.additionalNodeNetworkConfigs", "networkConfig.additionalPodNetworkConfigs",
        "networkConfig.podCidrOverprovisionConfig",
        *(
            f"nodeConfig.{name}"
            for name in (
                "guestAccelerators", "localSsdCount", "ephemeralStorageConfig",
                "ephemeralStorageLocalSsdConfig", "localNvmeSsdBlockConfig", "secondaryBootDisks",
                "metadata", "minCpuPlatform", "oauthScopes", "preemptible", "reservationAffinity",
                "spot", "serviceAccount", "shieldedInstanceConfig", "sandboxConfig",
                "bootDiskKmsKey", "nodeGroup", "advancedMachineFeatures", "soleTenantConfig",
                "hostMaintenancePolicy", "confidentialNodes.confidentialInstanceType",
                "enableConfidentialStorage", "localSsdEncryptionMode", "maxRunDuration",
                "flexStart",
            )
        ),
    },
}  # fmt: skip


def is_immutable(kind: str, path: str) -> bool:
    """Whether a change at this field path means a new object."""
    parts = path.split(".")
    return any(".".join(parts[:length]) in FIELDS[kind] for length in range(1, len(parts) + 1))


def shrinks(old: Values, new: Values) -> bool:
    """Whether a subnet's range gets smaller or moves: growing alone happens in place.

    Source: customdiff ForceNewIfChange("ip_cidr_range", IsShrinkageIpCidr), compute subnetwork.
    """
    before, after = old.get("ipCidrRange"), new.get("ipCidrRange")
    if before == after or UNKNOWN in (before, after) or before is None or after is None:
        return False
    outer = ipaddress.ip_network(after)
    inner = ipaddress.ip_network(before)
    return not (
        isinstance(outer, ipaddress.IPv4Network)
        and isinstance(inner, ipaddress.IPv4Network)
        and inner.subnet_of(outer)
    )
