"""The measured part of docs/performance.md; all around it is written by hand and stays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rehearsal.bench.figures import HEADER, MEASURES, Row, table

BEGIN = "<!-- figures: written by `python -m rehearsal.bench --write` -->"
END = "<!-- end of figures -->"


class PageError(Exception):
    """The page has no place for the figures."""


def write(path: Path, machine: str, lines: Sequence[Row]) -> None:
    """Put measured rows into the page.

    Rows that were not measured this time stay if they are of the same machine: figures of two
    machines are not compared in one table.

    Raises:
        PageError: if the page lacks one of the two comments between which the figures stand.
    """
    text = path.read_text()
    before, found, rest = text.partition(BEGIN)
    old, also_found, after = rest.partition(END)
    if not (found and also_found):
        raise PageError(f"{path} lacks the line {BEGIN} or, after it, {END}: put them back")
    merged = {row[0]: row for row in _rows(old)} if f"\n{machine}\n" in old else {}
    merged |= {row[0]: row for row in lines}
    ordered = [merged[each.text] for each in MEASURES if each.text in merged]
    path.write_text(f"{before}{BEGIN}\n\n{machine}\n\n{table(ordered)}\n\n{END}{after}")


def _rows(text: str) -> list[Row]:
    """Return the body of the table in a text."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[1:]]
    return [row for row in cells if len(row) == len(HEADER)]
