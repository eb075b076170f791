from __future__ import annotations

import pytest

from infra.fields import flag, number, text, whole


@pytest.mark.parametrize(("value", "meaning"), [(1000, 1000), ("1000", 1000), (-5, -5)])
def test_a_whole_number_is_read_by_meaning(value: object, meaning: int) -> None:
    assert whole(value) == meaning


@pytest.mark.parametrize("value", ["1e3", 1.5, "1.5", True, "abc", None, "", " 7", 1000.0])
def test_what_only_resembles_a_whole_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="whole number"):
        whole(value)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [(True, True), ("True", True), ("true", True), (False, False), ("False", False)],
)
def test_a_flag_is_read_by_meaning(value: object, meaning: bool) -> None:
    assert flag(value) is meaning


@pytest.mark.parametrize("value", ["yes", 0, 1, "no", "", None, "TRUE"])
def test_what_only_resembles_a_flag_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="true or false"):
        flag(value)


@pytest.mark.parametrize(("value", "meaning"), [(2e-5, 2e-5), ("2e-5", 2e-5), (1, 1.0)])
def test_a_number_is_read_by_meaning(value: object, meaning: float) -> None:
    assert number(value) == meaning


@pytest.mark.parametrize("value", [True, "nan", "inf", "x", None])
def test_what_only_resembles_a_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must be a number"):
        number(value)


@pytest.mark.parametrize("value", ["", " a", "a ", "a\nb", 7, None, True])
def test_text_is_one_line_without_surrounding_blanks(value: object) -> None:
    with pytest.raises(ValueError, match="must"):
        text(value)
