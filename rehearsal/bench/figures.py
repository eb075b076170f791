"""What is measured, the goal of each figure, and how figures are summed up and shown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One figure: how it is called, in which unit, and the most it may be (None: no goal)."""

    key: str
    text: str
    unit: str
    limit: float | None = None


MEASURES = (
    Measure("demo-real", "`make demo`, warm", "s", 180),
    Measure("demo-guide", "`make demo STACK=rehearsal-guide`, warm", "s", 60),
    Measure("handover", "condition Completed -> the next JobSet exists", "s", 1),
    Measure("failure", "a pod exits -> `pulumi up` has ended with the reason", "s", 3),
    Measure("interrupt", "SIGINT -> `pulumi up` has ended", "s", 2),
    Measure("provider-memory", "stage provider, peak memory of a whole run", "MiB", 120),
    Measure("provider-cpu", "stage provider watching 8 pods, a step a second", "% of a core"),
    Measure("preview-full", "`pulumi preview` of the guide's stack, nothing there yet", "s"),
    Measure("preview-empty", "the same of an empty program with the same imports", "s"),
    Measure("preview-over", "the full one over the empty one, run by turns", "s"),
    Measure("unit", "the unit tests", "s", 20),
    Measure("test", "`make test`", "s", 360),
    Measure("size-toolchain", "built toolchain on disk", "MB"),
    Measure("size-maxtext", "MaxText's environment on disk", "MB"),
    Measure("size-venv", "`.venv` on disk", "MB"),
    Measure("size-home-real", "what `make demo` leaves in the checkout", "MB"),
    Measure("size-home-guide", "what `make demo STACK=rehearsal-guide` leaves there", "MB"),
    Measure("cold-demo", "`make demo`, empty caches", "s", 780),
    Measure("cold-first-line", "its first useful line, the plan of the run", "s", 60),
    Measure("cold-peak", "its peak on disk", "GB", 8),
    Measure("cold-left", "what it leaves on disk, caches included", "GB", 2),
)  # fmt: skip

HEADER = ("figure", "goal", "min", "median", "max", "runs", "measured")

Row = tuple[str, ...]
Values = Mapping[str, Sequence[float]]


def rows(values: Values, day: str) -> list[Row]:
    """Return one row per measured figure, in the order of `MEASURES`.

    Args:
        values: the measured values of each figure, by its key.
        day: the day of the measurement, as it is shown.
    """
    return [_row(each, values[each.key], day) for each in MEASURES if values.get(each.key)]


def table(lines: Iterable[Row]) -> str:
    """Return rows as a Markdown table whose columns also line up on a terminal."""
    everything = [HEADER, *lines]
    widths = [max(len(row[column]) for row in everything) for column in range(len(HEADER))]
    head, *body = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in everything]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([head, rule, *body])


def _row(measure: Measure, values: Sequence[float], day: str) -> Row:
    middle = statistics.median(values)
    spread = (min(values), middle, max(values))
    return (
        measure.text,
        _goal(measure, middle),
        *(f"{_number(value)} {measure.unit}" for value in spread),
        str(len(values)),
        day,
    )


def _goal(measure: Measure, median: float) -> str:
    if measure.limit is None:
        return ""
    # A median says more about a machine than the one run that something else disturbed.
    met = "met" if median <= measure.limit else "MISSED"
    return f"<= {measure.limit:g} {measure.unit}, {met}"


def _number(value: float) -> str:
    """Return a value with three digits, as far as it has them before the point or needs them."""
    places = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{places}f}"
