"""The program as a whole, as the engine sees it."""

from __future__ import annotations

from tests.conftest import Recorder


def test_stages_are_exported_in_order(stack: Recorder) -> None:
    names = [stage["name"] for stage in stack.exports["stages"]]
    assert names == ["hf-to-mt", "sft", "mt-to-hf"]
