"""The run: each stage as a resource of the stage provider, after the one before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from infra.cluster import TrainingCluster
from infra.config import Home
from infra.prices import during, total
from workloads.config import RunConfig
from workloads.experiment import experiment, operation
from workloads.jobset import jobset_manifest
from workloads.outputs import loading, still_billing
from workloads.stage import Placement, Stage
from workloads.stages import finetune_stages

# What the provider adds once a stage has run; unknown in a preview that will run it.
OUTPUTS = (
    "state",
    "proven_digest",
    "identity",
    "committed_step",
    "jobset_uid",
    "image",
    "attempts",
    "started",
    "finished_at",
    "took_seconds",
    "figures",
    "object_count",
    "size_bytes",
)


class StageRun(pulumi.CustomResource):
    """One stage run to completion and proven by what it left in the bucket."""

    state: pulumi.Output[str]
    proven_digest: pulumi.Output[str]
    url: pulumi.Output[str]
    started: pulumi.Output[str]
    finished_at: pulumi.Output[str]
    took_seconds: pulumi.Output[float]
    figures: pulumi.Output[dict[str, float]]
    size_bytes: pulumi.Output[int]

    def __init__(
        self,
        name: str,
        *,
        inputs: Mapping[str, Any],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        computed = dict.fromkeys(OUTPUTS)
        super().__init__("maxtext:index:Stage", name, {**computed, **inputs}, opts)


class FinetuneRun(pulumi.ComponentResource):
    """The stages in order; each one waits for the proof of the one before."""

    stages: list[dict[str, pulumi.Input[Any]]]
    next: list[str]

    def __init__(
        self,
        name: str,
        *,
        plan: RunConfig,
        home: Home,
        cluster: TrainingCluster,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("maxtext:workloads:FinetuneRun", name, None, opts)
        stages = finetune_stages(plan, home.place)
        done: dict[str, StageRun] = {}
        for index, stage in enumerate(stages):
            inputs = stage_inputs(stage, run=plan, home=home, finished=stages[:index])
            reads = [
                {"stage": read, "url": done[read].url, "digest": done[read].proven_digest}
                for read in stage.reads
            ]
            done[stage.name] = StageRun(
                f"{name}-{stage.name}",
                inputs={**inputs, "kubeconfig": cluster.kubeconfig, "reads": reads},
                opts=pulumi.ResourceOptions(
                    parent=self,
                    deleted_with=cluster.gke,
                    depends_on=list(done.values())[-1:],
                    custom_timeouts=_timeouts(stage, plan),
                ),
            )
        self.stages = [_summary(stage, done[stage.name]) for stage in stages]
        self.next = loading(exporting(stages), plan)
        self.register_outputs({"stages": self.stages})


def exporting(stages: tuple[Stage, ...]) -> Stage:
    """Return the stage that exports the trained model, whatever stages are added behind it."""
    exports = [stage for stage in stages if stage.artifacts["kind"] == "safetensors"]
    return next(stage for stage in exports if "sft" in stage.reads)


def stage_inputs(
    stage: Stage, *, run: RunConfig, home: Home, finished: tuple[Stage, ...]
) -> dict[str, Any]:
    """Return the inputs of a stage's resource that are known before anything runs."""
    parts = during(home.place, on_slice=stage.placement is Placement.SLICE)
    return {
        "stage": stage.name,
        "namespace": home.namespace,
        "manifest": jobset_manifest(stage, run=run, home=home),
        "settings": settings_document(stage),
        "operational": {
            **operation(stage.arguments),
            **stage.first_attempt_arguments,
            "image": run.image,
            "max_restarts": run.max_restarts,
        },
        "finished": [{"stage": earlier.name, "url": earlier.url} for earlier in finished],
        "directory": stage.directory,
        "artifacts": dict(stage.artifacts),
        "url": stage.url,
        "start_timeout_minutes": run.start_timeout_minutes,
        "timeout_minutes": stage.timeout_minutes,
        "chips": home.place.chips if stage.placement is Placement.SLICE else 0,
        "usd_per_hour": total(parts),
        "still_billing": still_billing(home.place),
    }


def settings_document(stage: Stage) -> dict[str, Any]:
    """Return the document whose change makes the stage another experiment, one setting a key."""
    return {
        "module": stage.module,
        "directory": stage.directory,
        "flags": list(stage.flags),
        **experiment(stage.arguments),
        **stage.settings,
    }


def _timeouts(stage: Stage, run: RunConfig) -> pulumi.CustomTimeouts:
    # The provider keeps the deadlines of the stage; this only keeps the engine from being first.
    attempts = run.max_restarts + 1
    minutes = attempts * (stage.timeout_minutes + run.start_timeout_minutes) + 60
    hours = f"{-(-minutes // 60)}h"
    return pulumi.CustomTimeouts(create=hours, update=hours, delete="1h")


def _summary(stage: Stage, resource: StageRun) -> dict[str, pulumi.Input[Any]]:
    return {
        "name": stage.name,
        "state": resource.state,
        "url": stage.url,
        # The proof: settings, times and every object with its size, as the provider left it.
        "record": f"{stage.directory}stage-record.json",
        "started": resource.started,
        "finished": resource.finished_at,
        "took_seconds": resource.took_seconds,
        "size_bytes": resource.size_bytes,
        "figures": resource.figures,
    }
