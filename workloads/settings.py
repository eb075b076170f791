"""Both config blocks read and judged together, before any resource is declared."""

from __future__ import annotations

import pulumi

from infra.config import ClusterConfig
from infra.problems import message, parsed
from infra.token import checked_token
from workloads.config import RunConfig
from workloads.sizes import allocatable_storage_gib, chips_for_training, conversion_storage_gib


def read_settings(cluster: object, run: object) -> tuple[ClusterConfig, RunConfig]:
    """Return the two config blocks of a stack; raise RunError listing every bad key.

    The engine shows a RunError without a traceback.
    """
    place, place_problems = parsed("cluster", ClusterConfig, cluster)
    plan, plan_problems = parsed("run", RunConfig, run)
    if place is None or plan is None:
        raise pulumi.RunError(message([*place_problems, *plan_problems]))
    if problems := misfits(place, plan):
        raise pulumi.RunError(message(problems))
    return place, plan


def read_token(value: str | None) -> pulumi.Output[str] | None:
    """Return the Hub token as a secret, or None where the stack has none."""
    if not value:
        return None
    try:
        return pulumi.Output.secret(checked_token(value))
    except ValueError as error:
        raise pulumi.RunError(message([str(error)])) from None


def misfits(place: ClusterConfig, run: RunConfig) -> list[str]:
    """Return one line for each way in which the run does not fit the place."""
    if not run.verify_model_size:
        return []
    lines = []
    model, tpu = run.model_name, place.tpu
    chips = chips_for_training(model, tpu.hbm_gb)
    if chips > place.chips:
        lines.append(
            f'cluster.tpu = "{tpu.name}": {model.name} needs at least {chips} {tpu.family} chips'
            f" to train, here are {place.chips}. Set cluster.tpu to a larger slice"
        )
    needed = conversion_storage_gib(model)
    available = allocatable_storage_gib(place.tpu_disk_size_gb)
    if needed > available:
        lines.append(
            f"cluster.tpu_disk_size_gb = {place.tpu_disk_size_gb}: leaves {available:.0f} GiB to a"
            f" pod, {model.name} needs {needed} GiB for its weights. Set it higher"
        )
    return lines
