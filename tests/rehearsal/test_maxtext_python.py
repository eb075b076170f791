from __future__ import annotations

from pathlib import Path

import pytest

from rehearsal.maxtext_python import NoPython, find_python


def python(path: Path, version: str, code: int = 0) -> Path:
    """Make an interpreter that answers only the question for its version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any Python of its own that fits."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.delenv("REHEARSAL_MAXTEXT_PYTHON", raising=False)
    monkeypatch.setattr("rehearsal.maxtext_python.sys.version_info", (3, 11, 7))
    return tmp_path


def test_without_a_python_the_message_says_which_would_do() -> None:
    with pytest.raises(NoPython, match=r"needs Python 3\.12 or 3\.13.*REHEARSAL_MAXTEXT_PYTHON"):
        find_python()


def test_python_on_the_path_is_found(machine: Path) -> None:
    path = python(machine / "bin" / "python3.13", "3.13.0")
    assert (find_python().path, find_python().version) == (path, "3.13.0")


def test_3_12_comes_before_3_13(machine: Path) -> None:
    python(machine / "bin" / "python3.13", "3.13.0")
    path = python(machine / "pyenv" / "versions" / "3.12.1" / "bin" / "python3", "3.12.1")
    assert find_python().path == path


def test_shim_that_does_not_run_is_passed_over(machine: Path) -> None:
    """pyenv puts a `python3.12` on PATH that only says that none is selected."""
    python(machine / "bin" / "python3.12", "pyenv: python3.12: command not found", code=127)
    path = python(machine / "pyenv" / "versions" / "3.12.1" / "bin" / "python3", "3.12.1")
    assert find_python().path == path


def test_python_named_by_the_user_that_does_not_fit_is_named_back(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = python(machine / "own" / "python", "3.11.2")
    monkeypatch.setenv("REHEARSAL_MAXTEXT_PYTHON", str(path))
    with pytest.raises(NoPython, match=str(path)):
        find_python()
