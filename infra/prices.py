"""What runs and bills, in list prices; a price nobody published here is unknown, never zero."""

from __future__ import annotations

from dataclasses import dataclass

from infra.config import Capacity, ClusterConfig

AS_OF = "2026-09"
"""When the list prices below were collected: they are an orientation, not an offer."""

# On-demand chip-hours in USD. Source: SkyPilot's public catalog v8, gcp/vms.csv.
_CHIP_HOUR: dict[tuple[str, str], float] = {
    ("v6e", "us-central1"): 2.70,
    ("v6e", "us-east1"): 2.70,
    ("v6e", "us-west1"): 2.70,
    ("v6e", "us-east4"): 2.70,
    ("v6e", "us-east5"): 2.70,
    ("v6e", "us-south1"): 2.70,
    ("v6e", "europe-west4"): 2.97,
    ("v6e", "asia-southeast1"): 2.97,
    ("v6e", "asia-northeast1"): 3.24,
    ("v6e", "asia-south1"): 3.24,
}
# Machine-hours in USD. Source: published Compute Engine price tables of us-central1.
_MACHINE_HOUR: dict[tuple[str, str], float] = {
    ("e2-standard-8", "us-central1"): 0.268,
    ("n2-highmem-32", "us-central1"): 2.096,
}
# The management fee of one cluster. Source: GKE pricing page.
_CONTROL_PLANE_HOUR = 0.10
SYSTEM_MACHINE = "e2-standard-8"
SYSTEM_HOSTS = 2
CONVERSION_MACHINE = "n2-highmem-32"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One thing that bills, with its price per hour or None when it is not known."""

    what: str
    usd_per_hour: float | None
    remark: str = ""

    @property
    def line(self) -> str:
        """The part in one line, as a failure report shows it."""
        price = "price unknown" if self.usd_per_hour is None else f"${self.usd_per_hour:.2f}/h"
        return f"{self.what}: {price}{f' ({self.remark})' if self.remark else ''}"


def always_on(place: ClusterConfig) -> tuple[Part, ...]:
    """Return what bills from `up` to `destroy`, whether a stage runs or not."""
    machine = _MACHINE_HOUR.get((SYSTEM_MACHINE, place.region))
    base = (
        Part(what="GKE control plane", usd_per_hour=_CONTROL_PLANE_HOUR),
        Part(
            what=f"system pool, {SYSTEM_HOSTS} x {SYSTEM_MACHINE}",
            usd_per_hour=None if machine is None else machine * SYSTEM_HOSTS,
        ),
    )
    return (*base, _slices(place)) if place.reserved else base


def during(place: ClusterConfig, *, on_slice: bool) -> tuple[Part, ...]:
    """Return what bills while a stage runs on the slice, or on a conversion host."""
    if place.reserved:
        return always_on(place)
    if on_slice:
        return (*always_on(place), _slices(place))
    price = _MACHINE_HOUR.get((CONVERSION_MACHINE, place.region))
    part = Part(what=f"conversion host, {CONVERSION_MACHINE}", usd_per_hour=price)
    return (*always_on(place), part)


def total(parts: tuple[Part, ...]) -> float | None:
    """Return the sum per hour, or None as soon as one part is unknown."""
    prices = [part.usd_per_hour for part in parts]
    known = [price for price in prices if price is not None]
    return round(sum(known), 4) if len(known) == len(prices) else None


def _slices(place: ClusterConfig) -> Part:
    chip = _CHIP_HOUR.get((place.tpu.family, place.region))
    on_demand = None if chip is None else round(chip * place.chips, 2)
    what = f"TPU {place.num_slices} x {place.tpu.name} ({place.capacity})"
    if place.capacity is Capacity.ON_DEMAND:
        return Part(what=what, usd_per_hour=on_demand, remark=f"list price of {AS_OF}")
    listed = f"; on demand the list says ${on_demand:.2f}/h in {AS_OF}" if on_demand else ""
    why = {
        Capacity.RESERVATION: "a reservation bills by contract while it exists, used or not",
        Capacity.SPOT: "the spot price moves",
        Capacity.FLEX_START: "the flex-start price is not in the table",
    }[place.capacity]
    return Part(what=what, usd_per_hour=None, remark=why + listed)
