import pytest

from rehearsal.bench.figures import HEADER, MEASURES, rows, table

DAY = "2026-01-31"


def test_every_figure_has_a_key_and_a_text_of_its_own() -> None:
    assert len({each.key for each in MEASURES}) == len(MEASURES)
    assert len({each.text for each in MEASURES}) == len(MEASURES)


@pytest.mark.parametrize(
    ("seconds", "goal"),
    [
        ([0.4, 0.9, 1.7], "<= 1 s, met"),
        ([0.4, 1.0, 1.7], "<= 1 s, met"),
        ([0.4, 1.1, 1.7], "<= 1 s, MISSED"),
    ],
)
def test_the_median_decides_whether_a_goal_is_met(seconds: list[float], goal: str) -> None:
    ((_, told, *_),) = rows({"handover": seconds}, DAY)
    assert told == goal


def test_a_row_tells_the_spread_the_runs_and_the_day() -> None:
    ((_, _, *rest),) = rows({"handover": [0.5, 0.25, 1.0, 0.75]}, DAY)
    assert rest == ["0.25 s", "0.62 s", "1.00 s", "4", DAY]


def test_a_figure_without_a_goal_is_neither_met_nor_missed() -> None:
    ((_, goal, *_),) = rows({"size-venv": [600.0]}, DAY)
    assert goal == ""


def test_rows_come_in_the_order_of_the_measures_and_only_if_measured() -> None:
    measured = rows({"unit": [9.0], "demo-real": [100.0], "test": []}, DAY)
    assert [row[0] for row in measured] == ["`make demo`, warm", "the unit tests"]


def test_the_columns_of_the_table_line_up() -> None:
    lines = table(rows({"unit": [9.0], "demo-real": [100.0]}, DAY)).splitlines()
    assert len(lines) == 4
    assert len({len(line) for line in lines}) == 1
    assert {line.count("|") for line in lines} == {len(HEADER) + 1}
