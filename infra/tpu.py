"""The one table of TPU slices, so that pools, pods and checks can never disagree about a slice.

Shapes, labels and machine types are those of GKE's "About TPUs in GKE" page and of XPK 1.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, kw_only=True)
class TpuFamily:
    """What all slices of one TPU generation have in common."""

    accelerator: str
    """Value of the node label `cloud.google.com/gke-tpu-accelerator`."""
    machine_prefix: str
    """Machine type without its `-4t` or `-1t` suffix."""
    hbm_gb: int
    """High-bandwidth memory of one chip in GB."""
    disk_type: str
    """The boot disk type the generation's machines accept."""
    topologies: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TpuSlice:
    """One slice: chips wired together, delivered by GKE as one node pool."""

    family: str
    topology: str
    accelerator: str
    machine_type: str
    chips_per_host: int
    hbm_gb: int
    disk_type: str

    @property
    def chips(self) -> int:
        """Chips in the slice: the product of its topology."""
        return chips_of(self.topology)

    @property
    def hosts(self) -> int:
        """Virtual machines of the slice = chips / chips per host."""
        return self.chips // self.chips_per_host

    @property
    def name(self) -> str:
        """The name people say, such as `v6e-32`."""
        return f"{self.family}-{self.chips}"

    @property
    def multi_host(self) -> bool:
        """Whether the slice has more than one host; only then GKE takes a placement policy."""
        return self.hosts > 1

    @property
    def node_labels(self) -> dict[str, str]:
        """The labels GKE puts on the slice's nodes, used as a pod's node selector."""
        return {
            "cloud.google.com/gke-tpu-accelerator": self.accelerator,
            "cloud.google.com/gke-tpu-topology": self.topology,
        }


_TWO_DIMENSIONAL = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")

FAMILIES: dict[str, TpuFamily] = {
    "v6e": TpuFamily(
        accelerator="tpu-v6e-slice",
        machine_prefix="ct6e-standard",
        hbm_gb=32,
        disk_type="hyperdisk-balanced",
        topologies=_TWO_DIMENSIONAL,
    ),
    "v5e": TpuFamily(
        accelerator="tpu-v5-lite-podslice",
        machine_prefix="ct5lp-hightpu",
        hbm_gb=16,
        disk_type="pd-balanced",
        topologies=_TWO_DIMENSIONAL,
    ),
}


def chips_of(topology: str) -> int:
    """Return the number of chips of a topology such as `4x8`."""
    return prod(int(side) for side in topology.split("x"))


def tpu_slice(name: str) -> TpuSlice:
    """Return the slice called `v6e-32` (by chips) or `v6e-4x8` (by topology).

    Raises ValueError naming the known slices.
    """
    family_name, _, size = name.partition("-")
    family = FAMILIES.get(family_name)
    if family is None:
        raise ValueError(f"unknown TPU {name!r}; known are {', '.join(slice_names())}")
    for topology in family.topologies:
        if size in (topology, str(chips_of(topology))):
            return _slice(family_name, family, topology)
    raise ValueError(
        f"no {family_name} slice is called {name!r}; known are"
        f" {', '.join(slice_names(family_name))}, or by topology such as {family_name}-4x8"
    )


def slice_names(family: str | None = None) -> list[str]:
    """Return the names by chip count, of one family or of all."""
    return [
        f"{name}-{chips_of(topology)}"
        for name in FAMILIES
        if family in (None, name)
        for topology in FAMILIES[name].topologies
    ]


def _slice(family_name: str, family: TpuFamily, topology: str) -> TpuSlice:
    # One chip comes as a machine of its own; every other shape is built from 4-chip hosts.
    chips_per_host = 1 if topology == "1x1" else 4
    return TpuSlice(
        family=family_name,
        topology=topology,
        accelerator=family.accelerator,
        machine_type=f"{family.machine_prefix}-{chips_per_host}t",
        chips_per_host=chips_per_host,
        hbm_gb=family.hbm_gb,
        disk_type=family.disk_type,
    )
