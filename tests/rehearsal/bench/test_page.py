from pathlib import Path

import pytest

from rehearsal.bench.__main__ import PAGE
from rehearsal.bench.figures import rows
from rehearsal.bench.page import BEGIN, END, PageError, write

MACHINE = "2 cores (a processor), 24 GiB, Python 3.11.7"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "performance.md"
    path.write_text(f"# Title\n\nby hand\n\n{BEGIN}\n{END}\n\nalso by hand\n")
    return path


def test_what_is_written_by_hand_stays(page: Path) -> None:
    for _ in range(2):
        write(page, MACHINE, rows({"unit": [9.0]}, "2026-01-31"))
    text = page.read_text()
    assert text.startswith(f"# Title\n\nby hand\n\n{BEGIN}\n\n{MACHINE}\n\n| figure ")
    assert text.endswith(f" |\n\n{END}\n\nalso by hand\n")
    assert text.count("the unit tests") == 1


def test_figures_that_were_not_measured_this_time_stay_with_their_day(page: Path) -> None:
    write(page, MACHINE, rows({"unit": [9.0], "handover": [0.5]}, "2026-01-31"))
    write(page, MACHINE, rows({"unit": [7.0]}, "2026-02-01"))
    handover, unit = [line for line in page.read_text().splitlines() if "2026" in line]
    assert "0.50 s" in handover
    assert "2026-01-31" in handover
    assert "7.00 s" in unit
    assert "2026-02-01" in unit


def test_figures_of_two_machines_never_stand_in_one_table(page: Path) -> None:
    write(page, MACHINE, rows({"handover": [0.5]}, "2026-01-31"))
    write(page, MACHINE.replace("2 cores", "64 cores"), rows({"unit": [7.0]}, "2026-02-01"))
    assert "0.50 s" not in page.read_text()


def test_a_page_without_a_place_for_figures_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "performance.md"
    path.write_text("all by hand\n")
    with pytest.raises(PageError, match="put them back"):
        write(path, MACHINE, rows({"unit": [9.0]}, "2026-01-31"))
    assert path.read_text() == "all by hand\n"


def test_the_projects_own_page_has_a_place_for_figures() -> None:
    before, _, after = PAGE.read_text().partition(BEGIN)
    assert before
    assert END in after
