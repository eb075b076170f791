from __future__ import annotations

import math

from rehearsal import tinymodel
from rehearsal.dialogues import COUNT, dialogues


def test_model_has_the_832_text_tensors_of_gemma_4_31b() -> None:
    names = [name for name, _ in tinymodel.shapes()]
    assert len(names) == len(set(names)) == tinymodel.TENSORS


def test_model_is_tiny() -> None:
    parameters = sum(math.prod(shape) for _, shape in tinymodel.shapes())
    assert 2_300_000 < parameters < 2_400_000


def test_each_sixth_layer_attends_globally_and_has_no_value_projection() -> None:
    names = {name for name, _ in tinymodel.shapes()}
    without = [
        layer
        for layer in range(tinymodel.LAYERS)
        if f"model.language_model.layers.{layer}.self_attn.v_proj.weight" not in names
    ]
    assert without == list(range(5, 60, 6))


def test_dialogues_are_the_same_each_time() -> None:
    assert dialogues() == dialogues()
    assert len(dialogues()) == COUNT


def test_dialogues_alternate_and_end_with_the_assistant() -> None:
    for talk in dialogues():
        assert [turn["role"] for turn in talk] == ["user", "assistant"] * 2
