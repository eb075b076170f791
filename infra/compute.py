"""The five Compute Engine resources of the network, without importing `pulumi_gcp.compute`.

That package costs two seconds of every preview, because it loads the types of all of Compute
Engine. These classes declare the same resource types with the inputs used here, so provider and
state see no difference. Inputs are listed in https://www.pulumi.com/registry/packages/gcp/.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import pulumi


class SecondaryRange(TypedDict):
    """A named address range of a subnetwork, for pods or for services."""

    rangeName: str
    ipCidrRange: str


class Allowed(TypedDict, total=False):
    """What a firewall rule lets through."""

    protocol: str
    ports: list[str]


class _Compute(pulumi.CustomResource):
    """A Compute Engine resource whose inputs are given under the provider's own keys."""

    def __init__(
        self,
        kind: str,
        name: str,
        inputs: Mapping[str, Any],
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        super().__init__(
            f"gcp:compute/{kind[0].lower()}{kind[1:]}:{kind}", name, dict(inputs), opts
        )


class Network(_Compute):
    """A VPC whose subnetworks are all declared."""

    def __init__(
        self, name: str, *, network_name: str, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        inputs = {"name": network_name, "autoCreateSubnetworks": False, "mtu": 8896}
        super().__init__("Network", name, inputs, opts)


class Subnetwork(_Compute):
    """A regional address range, with Private Google Access so that GCS traffic skips the NAT."""

    def __init__(
        self,
        name: str,
        *,
        subnetwork_name: str,
        network: pulumi.Input[str],
        region: str,
        ip_cidr_range: str,
        secondary_ranges: Sequence[SecondaryRange],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        inputs = {
            "name": subnetwork_name,
            "network": network,
            "region": region,
            "ipCidrRange": ip_cidr_range,
            "privateIpGoogleAccess": True,
            "secondaryIpRanges": list(secondary_ranges),
        }
        super().__init__("Subnetwork", name, inputs, opts)


class Router(_Compute):
    """The router a NAT gateway needs."""

    def __init__(
        self,
        name: str,
        *,
        router_name: str,
        network: pulumi.Input[str],
        region: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        inputs = {"name": router_name, "network": network, "region": region}
        super().__init__("Router", name, inputs, opts)


class RouterNat(_Compute):
    """The way of private nodes to the Hugging Face Hub: out, never in."""

    def __init__(
        self,
        name: str,
        *,
        nat_name: str,
        router: str,
        region: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        inputs = {
            "name": nat_name,
            "router": router,
            "region": region,
            "natIpAllocateOption": "AUTO_ONLY",
            "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
            "logConfig": {"enable": True, "filter": "ERRORS_ONLY"},
        }
        super().__init__("RouterNat", name, inputs, opts)


class Firewall(_Compute):
    """A rule that lets traffic in from named address ranges."""

    def __init__(
        self,
        name: str,
        *,
        firewall_name: str,
        network: pulumi.Input[str],
        source_ranges: Sequence[str],
        allows: Sequence[Allowed],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        inputs = {
            "name": firewall_name,
            "network": network,
            "direction": "INGRESS",
            "sourceRanges": list(source_ranges),
            "allows": list(allows),
        }
        super().__init__("Firewall", name, inputs, opts)
