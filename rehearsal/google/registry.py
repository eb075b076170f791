"""The resource types that the stand-in serves; every other is refused by name."""

from __future__ import annotations

from typing import Final

from rehearsal.google import cluster, compute, iam, node_pool, storage
from rehearsal.google.kind import Kind
from rehearsal.plugin import RefusedError

KINDS: Final[dict[str, Kind]] = {
    kind.token: kind
    for kind in (
        iam.Service(),
        iam.Account(),
        iam.ProjectIAMMember(),
        iam.AccountIAMMember(),
        storage.Bucket(),
        storage.BucketIAMMember(),
        compute.Network(),
        compute.Subnetwork(),
        compute.Router(),
        compute.RouterNat(),
        compute.Firewall(),
        cluster.Cluster(),
        node_pool.NodePool(),
    )
}


def kind_of(token: str) -> Kind:
    """The kind of a type token.

    Raises:
        RefusedError: the rehearsal has no stand-in for this type.
    """
    if token in KINDS:
        return KINDS[token]
    raise RefusedError(
        f"the rehearsal has no stand-in for {token}; it knows {', '.join(sorted(KINDS))}. Declare "
        f"it in stacks on Google Cloud only, or add it to rehearsal/google/registry.py"
    )
