"""Reserved capacity: a pool gets its hosts only while the reservation has room for them.

`<home>/google/<project>/reservations.json` is {name: {"machine_type", "hosts", "zone"}}.
"""

from __future__ import annotations

from typing import Any

from rehearsal.google.cluster import NODE_POOL
from rehearsal.google.kind import Call
from rehearsal.google.world import RESERVATIONS, World
from rehearsal.plugin import RefusedError

KEY = "compute.googleapis.com/reservation-name"


def reservation_name(node_config: dict[str, Any]) -> str | None:
    """The reservation that nodes come from: a plain name, or an id with or without a block."""
    affinity = node_config.get("reservationAffinity") or {}
    if affinity.get("consumeReservationType") != "SPECIFIC_RESERVATION":
        return None
    value = str((affinity.get("values") or [""])[0])
    return value.partition("/reservations/")[2] or value


def require_room(world: World, call: Call, hosts: int, zones: list[str]) -> None:
    """Refuse a pool that its reservation cannot serve; hosts of this very pool count as free.

    Raises:
        RefusedError: unknown reservation, other machine type or zone, or too few free hosts.
    """
    node = call.get("nodeConfig", {})
    wanted = reservation_name(node)
    if wanted is None:
        return
    name = wanted.partition("/")[0]
    if node["reservationAffinity"].get("key") != KEY:
        raise RefusedError(
            f"googleapi: Error 400: ReservationAffinity.key must be {KEY!r} for "
            f"SPECIFIC_RESERVATION., badRequest"
        )
    known = world.state.document(call.project, "reservations.json", default=RESERVATIONS)
    found = known.get(name)
    if found is None or found["zone"] not in zones:
        raise RefusedError(
            f"googleapi: Error 400: Reservation '{name}' does not exist in zone "
            f"'{', '.join(zones)}' of project '{call.project}'., badRequest"
        )
    free = found["hosts"] - _taken(world, call, name)
    machine = node.get("machineType")
    if machine != found["machine_type"] or hosts > free:
        raise RefusedError(
            f"Error waiting for creating GKE NodePool: Google Compute Engine: Specified "
            f"reservation '{name}' does not have available resources for the request "
            f"(wanted {hosts} x {machine}, free {free} x {found['machine_type']}). "
            f"GCE_STOCKOUT"
        )


def _taken(world: World, call: Call, name: str) -> int:
    """Hosts of the reservation that other pools of the project hold."""
    return sum(
        entry.properties.get("nodeCount", 0)
        for entry in world.state.entries(call.project, NODE_POOL)
        if entry.id != call.id
        and (reservation_name(entry.properties.get("nodeConfig") or {}) or "").partition("/")[0]
        == name
    )
