from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rehearsal import maxtext_environment, maxtext_settings, tinymodel
from rehearsal.maxtext_environment import MaxTextBuildError
from rehearsal.maxtext_python import MaxTextPython

PYTHON = MaxTextPython(Path("/opt/python3.12"), "3.12.9")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a Python that fits."""
    monkeypatch.setenv("REHEARSAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(maxtext_environment, "find_python", lambda: PYTHON)
    monkeypatch.setattr(maxtext_environment, "_python", lambda: PYTHON)
    return tmp_path / "cache"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that an installer without any network was asked to fill."""
    folders: list[Path] = []

    def install(_: MaxTextPython, folder: Path) -> None:
        models = folder / "lib" / "python3.12" / "site-packages" / "maxtext" / "configs" / "models"
        models.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{key}: 1\n" for key in tinymodel.SIZES)
        (models / "gemma4-31b.yml").write_text(text)
        folders.append(folder)

    monkeypatch.setattr(maxtext_environment, "_install", install)
    monkeypatch.setattr(maxtext_environment, "_make_model", lambda _: None)
    return folders


def test_environment_is_found_only_when_it_is_complete(cache: Path, installed: list[Path]) -> None:
    assert maxtext_environment.environment() is None
    folder = maxtext_environment.build()
    assert maxtext_environment.environment() == folder
    (folder / "complete").unlink()
    assert maxtext_environment.environment() is None


def test_environment_is_built_once(cache: Path, installed: list[Path]) -> None:
    assert maxtext_environment.build() == maxtext_environment.build()
    assert len(installed) == 1


def test_interrupted_build_leaves_nothing_under_the_final_name_and_goes_on(
    cache: Path, installed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(maxtext_environment, "_make_model", interrupted)
        with pytest.raises(KeyboardInterrupt):
            maxtext_environment.build()
    assert maxtext_environment.environment() is None
    folder = maxtext_environment.build()
    assert installed[0] == installed[1] != folder
    assert [path.name for path in cache.iterdir()] == [folder.name]


def test_model_in_the_environment_is_the_tiny_one(cache: Path, installed: list[Path]) -> None:
    folder = maxtext_environment.build()
    text = (maxtext_settings.configs_folder(folder) / "models" / "gemma4-31b.yml").read_text()
    assert "vocab_size: 512\n" in text


def test_other_pins_are_another_environment(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = maxtext_environment.key(PYTHON)
    changed = tmp_path / "requirements.txt"
    changed.write_text(maxtext_environment.REQUIREMENTS.read_text() + "more==1\n")
    monkeypatch.setattr(maxtext_environment, "REQUIREMENTS", changed)
    assert maxtext_environment.key(PYTHON) != before


def test_small_disk_is_refused_before_anything_is_installed(
    cache: Path, installed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(cache.parent)._replace(free=1_000_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(MaxTextBuildError, match=r"1\.0 GB free.*REHEARSAL_CACHE"):
        maxtext_environment.build()
    assert installed == []


def test_linked_file_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 1000)
    os.link(tmp_path / "a", tmp_path / "b")
    assert maxtext_environment._size(tmp_path) == 1000


def test_every_pin_is_exact() -> None:
    """`--no-deps` resolves nothing, so a range would install whatever is newest."""
    lines = maxtext_environment.REQUIREMENTS.read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert len(pins) > 100
    assert all("==" in pin for pin in pins)
