"""What `make setup` runs and what a person sees of it."""

import sys
from pathlib import Path

import pytest

from rehearsal import maxtext_environment, setup
from rehearsal.maxtext_python import NoPython
from rehearsal.toolchain import folder


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules that stand for the parts of the setup."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def nothing_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "is_complete", lambda: False)
    monkeypatch.setattr(folder, "has_kubernetes_plugin", lambda: False)
    monkeypatch.setattr(maxtext_environment, "environment", lambda: None)
    monkeypatch.setattr(setup, "find_python", lambda: None)


@pytest.mark.usefixtures("nothing_is_there")
@pytest.mark.parametrize(
    ("stack", "plugin", "modules"),
    [
        ("rehearsal", False, [("rehearsal.toolchain",), ("rehearsal.maxtext_environment",)]),
        ("rehearsal-guide", False, [("rehearsal.toolchain",)]),
        (None, False, [("rehearsal.toolchain",), ("rehearsal.maxtext_environment",)]),
        (
            None,
            True,
            [("rehearsal.toolchain", "--kubernetes-plugin"), ("rehearsal.maxtext_environment",)],
        ),
    ],
)
def test_a_stack_gets_what_it_runs_and_no_more(
    stack: str | None, plugin: bool, modules: list[tuple[str, ...]]
) -> None:
    assert setup.missing_parts(stack, plugin) == modules


@pytest.mark.usefixtures("nothing_is_there")
def test_without_a_python_for_maxtext_the_stand_in_is_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_python() -> None:
        raise NoPython("needs Python 3.12")

    monkeypatch.setattr(setup, "find_python", no_python)
    assert setup.missing_parts("rehearsal", False) == [("rehearsal.toolchain",)]
    assert "needs Python 3.12; the stand-in trainer is used" in capsys.readouterr().out


def test_what_is_there_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "is_complete", lambda: True)
    monkeypatch.setattr(folder, "has_kubernetes_plugin", lambda: True)
    monkeypatch.setattr(maxtext_environment, "environment", lambda: Path("/there"))
    assert setup.missing_parts("rehearsal", kubernetes_plugin=True) == []


def test_the_parts_run_at_the_same_time(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for one, other in (("left", "right"), ("right", "left")):
        (parts / f"part_{one}.py").write_text(
            f"import os, pathlib\nfolder = pathlib.Path({str(parts)!r})\n"
            f"os.mkfifo(folder / '{one}') if '{one}' == 'left' else None\n"
            f"while not (folder / 'left').exists(): pass\n"
            f"(folder / 'left').open('{'r' if one == 'left' else 'w'}').close()\n"
            f"print('{one}: met {other}')\n"
        )
    assert setup.run([("part_left",), ("part_right",)], plan=None) == 0
    shown = capsys.readouterr().out
    assert "setup: left: met right\n" in shown
    assert "setup: right: met left\n" in shown


def test_the_plan_is_shown_before_the_parts_have_ended(
    parts: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (parts / "part_slow.py").write_text(
        f"import pathlib\nwhile not pathlib.Path({str(parts / 'planned')!r}).exists(): pass\n"
        "print('slow: ready')\n"
    )
    (parts / "part_plan.py").write_text(
        f"import pathlib\nprint('the plan')\npathlib.Path({str(parts / 'planned')!r}).touch()\n"
    )
    assert setup.run([("part_slow",)], plan=["part_plan"]) == 0
    shown = capfd.readouterr().out
    assert shown.index("the plan") < shown.index("slow: ready")


def test_a_failed_part_shows_all_it_said_and_ends_the_others(
    parts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (parts / "part_bad.py").write_text("import sys\nprint('first')\nprint('last')\nsys.exit(3)\n")
    (parts / "part_endless.py").write_text("import threading\nthreading.Event().wait()\n")
    assert setup.run([("part_bad",), ("part_endless",)], plan=None) == 3
    assert "setup: first\nlast\n" in capsys.readouterr().out


def test_setup_runs_with_the_interpreter_that_runs_it(
    parts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (parts / "part_who.py").write_text("import sys\nprint(sys.executable)\n")
    setup.run([("part_who",)], plan=None)
    assert sys.executable in capsys.readouterr().out
