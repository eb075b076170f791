from __future__ import annotations

from typing import Any

import pytest

from infra.problems import parsed
from workloads.config import RunConfig


def problems(**changes: Any) -> list[str]:
    """Return the lines of the error for a block of these keys."""
    return parsed("run", RunConfig, changes)[1]


def run(**changes: Any) -> RunConfig:
    """Return a valid run of these keys."""
    read, wrong = parsed("run", RunConfig, changes)
    assert read is not None, wrong
    return read


def test_an_empty_block_is_the_guides_run() -> None:
    plan = run()
    assert (plan.model_name.name, plan.steps, plan.name) == ("gemma4-31b", 1000, "sft")
    assert plan.hf_path == "HuggingFaceH4/ultrachat_200k"


@pytest.mark.parametrize("steps", ["abc", "1e3", 0, -5, 1.5, True, None])
def test_steps_that_are_none_are_refused_with_value_and_key(steps: object) -> None:
    (line,) = problems(steps=steps)
    assert line.startswith("run.steps = ")
    assert "Key to set: run.steps" in line


def test_steps_written_as_text_are_read_by_meaning() -> None:
    assert run(steps="1000").steps == 1000


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("gemma4-e2b", "cannot be stacked"),
        ("olmo3-7b", "no table to export it"),
        ("gemma5", "not in the table"),
    ],
)
def test_a_model_that_cannot_make_the_round_trip_is_refused(model: str, reason: str) -> None:
    (line,) = problems(model_name=model)
    assert reason in line
    assert "Allowed are gemma4-31b" in line


@pytest.mark.parametrize(
    "key", ["hf_access_token", "scan_layers", "steps", "load_parameters_path", "profiler"]
)
def test_an_override_of_what_the_program_sets_is_refused(key: str) -> None:
    (line,) = problems(overrides={key: "1"})
    assert f"{key} is set by this program" in line


def test_overrides_carry_numbers_and_flags_as_maxtext_writes_them() -> None:
    plan = run(overrides={"remat_policy": "minimal", "packing": False, "weight_decay": 0.1})
    assert plan.overrides == {"remat_policy": "minimal", "packing": "False", "weight_decay": "0.1"}


@pytest.mark.parametrize("name", ["M_STEPS", "HF_TOKEN", "a-b", "1A"])
def test_an_environment_variable_that_would_change_the_run_unseen_is_refused(name: str) -> None:
    assert len(problems(env={name: "x"})) == 1


def test_an_empty_override_is_refused() -> None:
    """MaxText reads `key=` as null and stops."""
    assert len(problems(overrides={"remat_policy": ""})) == 1


@pytest.mark.parametrize(("steps", "every"), [(1000, 250), (20, 5), (3, 1), (1, 1)])
def test_a_lost_host_costs_at_most_a_quarter_of_the_run(steps: int, every: int) -> None:
    assert run(steps=steps).checkpoint_every == every


def test_a_checkpoint_period_longer_than_the_run_is_refused() -> None:
    (line,) = problems(steps=100, checkpoint_period=10000)
    assert "no checkpoint before the end" in line


def test_every_other_base_has_another_directory() -> None:
    plans = [
        run(),
        run(revision="abc"),
        run(revision="abd"),
        run(hf_model_path="me/gemma"),
        run(save_dtype="float32"),
        run(base="mine"),
    ]
    directories = [plan.base_directory for plan in plans]
    assert directories[0] == "max-text-format"
    assert directories[-1] == "max-text-format-mine"
    assert len(set(directories)) == len(directories)


@pytest.mark.parametrize(("batch", "chips", "in_all"), [(1, 32, 32), (0.5, 32, 16), (0.25, 2, 0.5)])
def test_the_global_batch_is_the_batch_of_all_chips(
    batch: float, chips: int, in_all: float
) -> None:
    assert run(per_device_batch_size=batch).global_batch_size(chips) == in_all
