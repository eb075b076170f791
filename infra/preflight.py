"""What must be there before anything bills, as a resource everything billed depends on."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from infra.config import ClusterConfig


class Preflight(pulumi.CustomResource):
    """Checks made by the stage provider in `up` and never in preview: see its documentation."""

    def __init__(
        self,
        name: str,
        *,
        commands: Sequence[str],
        place: ClusterConfig,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        inputs = {"commands": list(commands), _use_of_the_bucket(place): place.bucket}
        super().__init__("maxtext:index:Preflight", name, inputs, opts)


def _use_of_the_bucket(place: ClusterConfig) -> str:
    if place.existing_bucket:
        return "existing_bucket"
    return "adopted_bucket" if place.adopt_bucket else "new_bucket"
