"""What must be there before anything bills, as a resource everything billed depends on."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi


class Preflight(pulumi.CustomResource):
    """Checks made by the stage provider in `up` and never in preview: see its documentation."""

    def __init__(
        self,
        name: str,
        *,
        commands: Sequence[str],
        new_bucket: str | None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        inputs: dict[str, object] = {"commands": list(commands)}
        if new_bucket is not None:
            inputs["new_bucket"] = new_bucket
        super().__init__("maxtext:index:Preflight", name, inputs, opts)
