"""When `.venv` is made, and what is said when it cannot be."""

from pathlib import Path

import pytest

from rehearsal import virtualenv
from rehearsal.virtualenv import REQUIREMENTS, VirtualenvError, is_current, wanted_stamp


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    for name in REQUIREMENTS:
        (tmp_path / name).write_text("one==1\n")
    return tmp_path


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_a_changed_pin_makes_it_anew(requirements: Path, name: str) -> None:
    before = wanted_stamp(requirements)
    (requirements / name).write_text("one==2\n")
    assert wanted_stamp(requirements) != before


def _environment(folder: Path, python: str, stamp: str | None) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text(f"#!/bin/sh\n{python}\n")
    (folder / "bin" / "python").chmod(0o755)
    if stamp is not None:
        (folder / "requirements.stamp").write_text(stamp)
    return folder


@pytest.mark.parametrize(
    ("python", "stamp", "current"),
    [
        ("exit 0", "stamp", True),
        ("exit 0", "of other pins", False),
        ("exit 0", None, False),  # an installation that was interrupted
        ("exit 1", "stamp", False),  # made by another Python
    ],
)
def test_it_is_current_if_it_runs_and_was_made_whole_from_these_pins(
    tmp_path: Path, python: str, stamp: str | None, current: bool
) -> None:
    assert is_current(_environment(tmp_path / "venv", python, stamp), "stamp") is current


def test_a_folder_without_an_interpreter_is_not_current(tmp_path: Path) -> None:
    (tmp_path / "requirements.stamp").write_text("stamp")
    assert not is_current(tmp_path, "stamp")


def test_a_python_without_venv_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(virtualenv.sys, "executable", "/bin/false")
    monkeypatch.setattr(virtualenv.shutil, "which", lambda _: None)
    with pytest.raises(VirtualenvError, match=r"apt-get install python3-venv"):
        virtualenv.make(tmp_path / "venv")
