"""Networks, subnets, routers, NAT and firewall rules: only their records and how they depend."""

from __future__ import annotations

import ipaddress
import zlib
from typing import ClassVar, Final

from typing_extensions import override

from rehearsal.google.immutable import shrinks
from rehearsal.google.kind import Call, Kind, leaf
from rehearsal.google.world import World
from rehearsal.plugin import RefusedError
from rehearsal.values import UNKNOWN, Values

_COMPUTE: Final = "compute.googleapis.com"
_LINK: Final = "https://www.googleapis.com/compute/v1/"


def _number(call: Call, object_id: str) -> str:
    """A numeric id that is the same for the same object, as far as anybody can tell."""
    return str(zlib.crc32(f"{call.number}/{object_id}".encode()) + 10**18)


class _Compute(Kind):
    """A named object of the Compute API."""

    service = _COMPUTE
    conflict = "googleapi: Error 409: The resource '{}' already exists, alreadyExists"
    collection = ""

    @override
    def identity(self, call: Call) -> str:
        return f"projects/{call.project}/{self.collection}/{call['name']}"

    @override
    def create(self, world: World, call: Call) -> Values:
        return {"selfLink": _LINK + self.identity(call)}


class _Regional(_Compute):
    """A Compute object that lives in a region and on a network."""

    @override
    def identity(self, call: Call) -> str:
        region = call["region"]
        return f"projects/{call.project}/regions/{region}/{self.collection}/{call['name']}"

    @override
    def admit(self, world: World, call: Call) -> None:
        world.require(call.project, Network.token, network_id(call))


def network_id(call: Call) -> str:
    """The id of the network that an object names by id, self link or name."""
    return f"projects/{call.project}/global/networks/{leaf(call.get('network', 'default'))}"


class Network(_Compute):
    """A VPC; it cannot go while something is on it."""

    token = "gcp:compute/network:Network"
    collection = "global/networks"
    defaults: ClassVar[Values] = {"autoCreateSubnetworks": True}
    computed: ClassVar[Values] = {"selfLink": UNKNOWN, "networkId": UNKNOWN, "numericId": UNKNOWN}

    @override
    def create(self, world: World, call: Call) -> Values:
        number = _number(call, self.identity(call))
        return {**super().create(world, call), "networkId": number, "numericId": number}

    @override
    def may_delete(self, world: World, call: Call) -> None:
        for kind in (Subnetwork.token, Router.token, Firewall.token, CLUSTER):
            for entry in world.state.entries(call.project, kind):
                if leaf(entry.properties.get("network")) == call["name"]:
                    raise RefusedError(
                        f"Error waiting for Deleting Network: The network resource '{call.id}' is "
                        f"already being used by '{entry.id}'"
                    )


class Subnetwork(_Regional):
    """A subnet; its ranges must be valid, free of overlap and unused when it goes."""

    token = "gcp:compute/subnetwork:Subnetwork"
    collection = "subnetworks"
    computed: ClassVar[Values] = {
        "selfLink": UNKNOWN, "gatewayAddress": UNKNOWN, "creationTimestamp": UNKNOWN,
        "subnetworkId": UNKNOWN,
    }  # fmt: skip

    @override
    def problems(self, inputs: Values) -> list[tuple[str, str]]:
        ranges = [("ipCidrRange", inputs.get("ipCidrRange"))]
        for index, secondary in enumerate(inputs.get("secondaryIpRanges") or []):
            ranges.append((f"secondaryIpRanges[{index}].ipCidrRange", secondary["ipCidrRange"]))
        return [
            (path, f"{path} must contain a valid CIDR with no host bits set, got {value!r}")
            for path, value in ranges
            if isinstance(value, str) and not _is_network(value)
        ]

    @override
    def replaces(self, old: Values, new: Values, path: str) -> bool:
        return path == "ipCidrRange" and shrinks(old, new)

    @override
    def admit(self, world: World, call: Call) -> None:
        super().admit(world, call)
        wanted = ipaddress.ip_network(call["ipCidrRange"])
        for entry in world.state.entries(call.project, self.token):
            taken = ipaddress.ip_network(entry.properties["ipCidrRange"])
            same_network = leaf(entry.properties["network"]) == leaf(call["network"])
            if same_network and wanted.overlaps(taken):
                raise RefusedError(
                    f"googleapi: Error 400: Invalid value for field 'resource.ipCidrRange': "
                    f"'{wanted}'. Invalid IPCidrRange: {wanted} conflicts with existing "
                    f"subnetwork '{leaf(entry.id)}' in region '{entry.properties['region']}'., "
                    f"invalid"
                )

    @override
    def create(self, world: World, call: Call) -> Values:
        gateway = next(iter(ipaddress.ip_network(call["ipCidrRange"]).hosts()))
        return {
            **super().create(world, call),
            "gatewayAddress": str(gateway),
            "subnetworkId": int(_number(call, self.identity(call))) % 2**31,
        }

    @override
    def may_delete(self, world: World, call: Call) -> None:
        for entry in world.state.entries(call.project, CLUSTER):
            if leaf(entry.properties.get("subnetwork")) == call["name"]:
                raise RefusedError(
                    f"Error waiting for Deleting Subnetwork: The subnetwork resource '{call.id}' "
                    f"is already being used by '{entry.id}'"
                )


class Router(_Regional):
    """A Cloud Router."""

    token = "gcp:compute/router:Router"
    collection = "routers"
    computed: ClassVar[Values] = {"selfLink": UNKNOWN, "creationTimestamp": UNKNOWN}


class RouterNat(Kind):
    """A NAT gateway on a router."""

    token = "gcp:compute/routerNat:RouterNat"
    service = _COMPUTE

    @override
    def identity(self, call: Call) -> str:
        return f"{call.project}/{call['region']}/{leaf(call['router'])}/{call['name']}"

    @override
    def admit(self, world: World, call: Call) -> None:
        router = f"projects/{call.project}/regions/{call['region']}/routers/{leaf(call['router'])}"
        world.require(call.project, Router.token, router)


class Firewall(_Compute):
    """A firewall rule; it needs its network and something to allow or deny."""

    token = "gcp:compute/firewall:Firewall"
    collection = "global/firewalls"
    defaults: ClassVar[Values] = {"direction": "INGRESS", "priority": 1000}
    computed: ClassVar[Values] = {"selfLink": UNKNOWN, "creationTimestamp": UNKNOWN}

    @override
    def problems(self, inputs: Values) -> list[tuple[str, str]]:
        if not inputs.get("allows") and not inputs.get("denies"):
            return [("allows", "one of `allows,denies` must be specified")]
        return []

    @override
    def admit(self, world: World, call: Call) -> None:
        world.require(call.project, Network.token, network_id(call))


CLUSTER: Final = "gcp:container/cluster:Cluster"


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True
