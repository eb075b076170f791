"""The command itself, with measurements that cost nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.bench import __main__ as bench
from rehearsal.bench import machine
from rehearsal.bench.commands import BenchError
from rehearsal.bench.page import BEGIN, END


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page, on a machine whose measurements are at once there."""
    path = tmp_path / "performance.md"
    path.write_text(f"{BEGIN}\n{END}\n")

    def late(runs: int) -> Iterator[tuple[str, float]]:
        yield from (("handover", 100.0 + run) for run in range(runs))

    def broken(runs: int) -> Iterator[tuple[str, float]]:
        yield "unit", 9.0
        raise BenchError("the cluster did not come up")

    monkeypatch.setattr(bench, "PAGE", path)
    monkeypatch.setattr(bench, "MEASUREMENTS", {"late": late, "broken": broken})
    monkeypatch.setattr(machine, "description", lambda stack: "2 cores")
    monkeypatch.setattr(machine, "disturbance", lambda: "")
    return path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["bench", *arguments])
    return bench.main()


def test_a_missed_goal_is_told_and_is_no_failure(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "late", "--runs", "2") == 0
    printed = capsys.readouterr().out
    assert "2 cores" in printed
    assert "MISSED" in printed
    assert "| 100 s" in printed


def test_nothing_is_written_unasked(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = page.read_text()
    run(monkeypatch, "late")
    assert page.read_text() == before
    run(monkeypatch, "late", "--write")
    assert "MISSED" in page.read_text()


def test_what_does_not_work_is_a_failure_and_writes_nothing(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = page.read_text()
    assert run(monkeypatch, "late", "broken", "--write") == 1
    assert "the cluster did not come up" in capsys.readouterr().err
    assert page.read_text() == before


def test_a_measurement_that_does_not_exist_is_refused_with_those_that_do(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "later")
    assert "later: choose of late, broken, test, cold" in capsys.readouterr().err


def test_nothing_long_is_measured_unasked() -> None:
    assert not set(bench.ON_REQUEST) & set(bench.chosen([], with_cold=False))
    assert bench.chosen([], with_cold=True) == ["cold"]
    assert bench.chosen(["unit"], with_cold=True) == ["unit", "cold"]


@pytest.mark.parametrize(("load", "quiet"), [(0.1, True), (1e6, False)])
def test_a_machine_that_does_something_else_is_told(
    monkeypatch: pytest.MonkeyPatch, load: float, quiet: bool
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    assert (machine.disturbance() == "") is quiet
