from __future__ import annotations

from typing import Any

import pytest

from rehearsal.difference import compare
from rehearsal.values import UNKNOWN


@pytest.mark.parametrize(
    ("old", "new", "detailed"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": "UPDATE"}),
        ({}, {"a": 2}, {"a": "ADD"}),
        ({"a": None}, {}, {}),
        ({"a": 1}, {}, {"a": "DELETE"}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, {"a.b": "UPDATE"}),
        ({}, {"a": {"b": 2}}, {"a.b": "ADD"}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, {"a[0].b": "UPDATE"}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": "UPDATE"}),
        ({"a": {"x.io/y": 1}}, {"a": {"x.io/y": 2}}, {'a["x.io/y"]': "UPDATE"}),
        ({"a": 1}, {"a": UNKNOWN}, {"a": "UPDATE"}),
        ({"__defaults": ["a"]}, {}, {}),
    ],
)
def test_each_change_is_named_by_its_path(
    old: dict[str, Any], new: dict[str, Any], detailed: dict[str, str]
) -> None:
    assert compare(old, new, lambda path: False).detailed == detailed


def test_an_immutable_field_is_asked_for_without_indices_and_replaces_its_property() -> None:
    old, new = {"a": [{"b": 1, "c": 1}]}, {"a": [{"b": 2, "c": 2}]}
    difference = compare(old, new, lambda path: path == "a.b")
    assert difference.detailed == {"a[0].b": "UPDATE_REPLACE", "a[0].c": "UPDATE"}
    assert (difference.changed, difference.replaced) == (["a"], ["a"])
