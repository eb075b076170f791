from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import workloads.run
from infra.config import ClusterConfig
from tests.conftest import STACK_FILES, Recorder, deploy, stack_config
from workloads.config import RunConfig
from workloads.provider.record import RECORD_NAME
from workloads.stage import Stage
from workloads.stages import finetune_stages


def four_stages(run: RunConfig, place: ClusterConfig) -> tuple[Stage, ...]:
    """Return the run with stages behind it, as a user would add them to the tuple."""
    stages = finetune_stages(run, place)
    export = stages[-1]
    evaluated = f"{export.directory}evaluation/"
    return (
        *stages,
        replace(
            export,
            name="evaluate",
            module="maxtext.eval.runner.run",
            arguments={"load_path": stages[1].url, "base_output_directory": evaluated},
            directory=evaluated,
            url=evaluated,
            reads=("sft",),
            artifacts={"kind": "objects", "url": evaluated},
        ),
        replace(export, name="base-to-hf", directory=evaluated, reads=("hf-to-mt",)),
    )


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """The program with a fourth and a fifth stage."""
    monkeypatch.setattr(workloads.run, "finetune_stages", four_stages)
    return deploy(stack_config(STACK_FILES["rehearsal-guide"]))


def test_a_fourth_stage_is_one_value_in_the_tuple(four: Recorder) -> None:
    _, sft, _, evaluate, _ = four.all("maxtext:index:Stage")
    assert evaluate.inputs["stage"] == "evaluate"
    assert evaluate.inputs["reads"][0]["url"] == sft.inputs["url"]
    assert len(evaluate.inputs["finished"]) == 3
    assert [stage["name"] for stage in four.exports["stages"]][-2:] == ["evaluate", "base-to-hf"]


def test_the_model_to_load_is_the_trained_one_whatever_stages_follow(four: Recorder) -> None:
    _, _, export, _, _ = four.all("maxtext:index:Stage")
    assert f" {export.inputs['url']} " in four.exports["next"][0]


def test_a_stage_waits_for_the_one_before_even_if_it_reads_another(four: Recorder) -> None:
    """Two stages at once would meet on the same hosts."""
    *_, export, evaluate, _ = four.all("maxtext:index:Stage")
    assert export.urn in evaluate.request.dependencies


def test_a_stage_is_told_what_bills_while_it_runs(stack: Recorder) -> None:
    for stage in stack.all("maxtext:index:Stage"):
        lines: list[str] = stage.inputs["still_billing"]
        assert lines[-1].startswith("stop it with `pulumi destroy`")
        assert any("TPU" in line for line in lines)


def test_each_stage_is_exported_with_the_record_that_proves_it(stack: Recorder) -> None:
    """The program and the provider share no module, so the record's name stands in both."""
    directories = [stage.inputs["directory"] for stage in stack.all("maxtext:index:Stage")]
    records = [stage["record"] for stage in stack.exports["stages"]]
    assert records == [directory + RECORD_NAME for directory in directories]


def test_only_the_training_counts_chips(stack: Recorder) -> None:
    chips: dict[str, Any] = {
        stage.inputs["stage"]: stage.inputs["chips"] for stage in stack.all("maxtext:index:Stage")
    }
    assert chips["hf-to-mt"] == chips["mt-to-hf"] == 0
    assert chips["sft"] in (4, 32)


def test_the_image_is_recorded_and_makes_no_other_experiment(stack: Recorder) -> None:
    for stage in stack.all("maxtext:index:Stage"):
        assert stage.inputs["operational"]["image"].endswith(":0.2.4")
        assert "image" not in stage.inputs["settings"]


def test_timeouts_reach_the_stage() -> None:
    config = stack_config(
        STACK_FILES["rehearsal-guide"], run={"start_timeout_minutes": 5, "sft_timeout_minutes": 6}
    )
    sft = deploy(config).one("maxtext:index:Stage", "run-sft").inputs
    assert (sft["start_timeout_minutes"], sft["timeout_minutes"]) == (5, 6)
