"""The inputs of a stage: judged before anything runs, also while parts are unknown."""

from typing import Any

import pytest

from workloads.provider.inputs import parse, problems
from workloads.provider.values import UNKNOWN


def test_good_inputs_have_no_problem_and_are_read(asked: dict[str, Any]) -> None:
    assert problems(asked) == []
    stage = parse(asked)
    assert (stage.name, stage.steps, stage.image) == ("r-sft", 20, "maxtext:1")


@pytest.mark.parametrize(
    "key", ["kubeconfig", "settings", "directory", "url", "artifacts", "manifest"]
)
def test_what_is_unknown_in_a_preview_is_no_problem(asked: dict[str, Any], key: str) -> None:
    assert problems({**asked, key: UNKNOWN}) == []


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"directory": "gs://bucket/m/trained/r"}, "directory"),
        ({"artifacts": {"kind": "orbax_training", "url": "gs://bucket/x"}}, "artifacts.url"),
        ({"timeout_minutes": 0}, "timeout_minutes"),
        ({"start_timeout_minutes": -1}, "start_timeout_minutes"),
        ({"manifest": {"metadata": {}}}, "manifest"),
        ({"settings": None}, "settings"),
    ],
)
def test_what_cannot_be_used_is_named(
    asked: dict[str, Any], changed: dict[str, Any], key: str
) -> None:
    assert [name for name, _ in problems({**asked, **changed})] == [key]
