"""Both config blocks read and judged together, before any resource is declared."""

from __future__ import annotations

import pulumi
from pulumi.runtime import is_config_secret

from infra.config import ClusterConfig
from infra.names import ENVIRONMENT_SECRET, TOKEN_KEY, TOKEN_SECRET
from infra.problems import message, parsed
from infra.token import checked_token
from workloads.config import RunConfig
from workloads.sizes import allocatable_storage_gib, chips_for_training, conversion_storage_gib


def read_settings(cluster: object, run: object) -> tuple[ClusterConfig, RunConfig]:
    """Return the two config blocks of a stack; raise RunError listing every bad key.

    The engine shows a RunError without a traceback.
    """
    place, place_problems = parsed(
        "cluster", ClusterConfig, cluster, secret=_holds_secret("cluster")
    )
    plan, plan_problems = parsed("run", RunConfig, run, secret=_holds_secret("run"))
    if place is None or plan is None:
        raise pulumi.RunError(message([*place_problems, *plan_problems]))
    if problems := [*misplaced_secrets(plan), *misfits(place, plan)]:
        raise pulumi.RunError(message(problems))
    return place, plan


def read_secrets(hf_token: str | None, run: RunConfig) -> dict[str, dict[str, str]]:
    """Return the secrets of the run by their names in the cluster; raise RunError for a bad token.

    An empty token means that the stack has none.
    """
    secrets: dict[str, dict[str, str]] = {}
    if hf_token:
        try:
            secrets[TOKEN_SECRET] = {TOKEN_KEY: checked_token(hf_token)}
        except ValueError as error:
            raise pulumi.RunError(message([str(error)])) from None
    if run.secret_env:
        secrets[ENVIRONMENT_SECRET] = run.secret_env
    return secrets


def misplaced_secrets(run: RunConfig) -> list[str]:
    """Return one line for each block with a secret where its values are shown in previews.

    The engine says only that a block holds a secret, not where.
    """
    lines = []
    if _holds_secret("cluster"):
        lines.append("cluster: holds a secret value, but its values are shown in previews")
    if _holds_secret("run") and (run.env or not run.secret_env):
        lines.append(
            "run: holds a secret value, but its values are shown in previews. Environment variables"
            " go into run.secret_env then, all of them:"
            " `pulumi config set --secret --path run.secret_env.NAME`"
        )
    return lines


def _holds_secret(block: str) -> bool:
    return is_config_secret(f"{pulumi.get_project()}:{block}")


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
