"""The page of all settings against the models that judge them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from infra.fields import Count, Text, matching
from tests.conftest import ROOT
from workloads.configdoc import BLOCKS, page, table


def test_the_page_is_what_the_models_say() -> None:
    committed = (ROOT / "docs" / "config.md").read_text()
    command = "python -m workloads.configdoc > docs/config.md"
    assert committed == page(), f"docs/config.md is stale: run `{command}`"


@pytest.mark.parametrize("block", BLOCKS)
def test_every_key_is_shown_with_what_is_allowed_and_what_it_means(block: str) -> None:
    model, _ = BLOCKS[block]
    rows = [row.strip("| ").split(" | ") for row in table(model).splitlines()[2:]]
    assert [row[0].strip("`") for row in rows] == list(model.model_fields)
    for key, allowed, default, meaning in rows:
        assert allowed, key
        assert default, key
        assert len(meaning) > 20, key


def test_a_value_is_described_by_the_rule_that_judges_it() -> None:
    class Colour(StrEnum):
        """Some colours."""

        RED = "red"
        BLUE = "blue"

    class Block(BaseModel):
        """Some keys."""

        name: Annotated[Text, matching("[a-z]+", "must be a|b or so")] = Field(description="A")
        count: Count | None = Field(default=None, description="B")
        colours: tuple[Colour, ...] = Field(default=(), description="C")
        colour: Colour = Field(default=Colour.RED, description="D")
        sizes: dict[str, Count] = Field(default_factory=dict, description="E")

    assert table(Block).splitlines()[2:] == [
        "| `name` | a\\|b or so | required | A |",
        "| `count` | whole number from 1 | none | B |",
        "| `colours` | list of: `red`, `blue` | none | C |",
        "| `colour` | `red`, `blue` | `red` | D |",
        "| `sizes` | block of `key: value`, each value: whole number from 1 | none | E |",
    ]
