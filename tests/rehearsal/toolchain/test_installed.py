"""An engine that is installed and fits is used; no other."""

from pathlib import Path

import pytest

from rehearsal.toolchain.installed import installed_pulumi, pulumi_fits


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("v3.274.1", True),
        ("v3.272.0\n", True),
        ("3.300.0", True),
        ("v3.275.0-alpha.1", True),
        ("v3.271.9", False),
        ("v2.999.0", False),
        ("v4.0.0", False),
        ("", False),
        ("command not found", False),
    ],
)
def test_an_engine_fits_if_it_knows_what_the_sdk_asks_for(version: str, fits: bool) -> None:
    assert pulumi_fits(version) is fits


def _pulumi(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pulumi"
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


def test_a_fitting_engine_on_the_path_is_used(tmp_path: Path) -> None:
    pulumi = _pulumi(tmp_path / "bin", "v3.274.1")
    assert installed_pulumi(tmp_path / "cache", path=str(tmp_path / "bin")) == pulumi


def test_an_old_engine_on_the_path_is_not_used(tmp_path: Path) -> None:
    _pulumi(tmp_path / "bin", "v3.100.0")
    assert installed_pulumi(tmp_path / "cache", path=str(tmp_path / "bin")) is None


def test_our_own_engine_on_the_path_is_not_taken_for_an_installed_one(tmp_path: Path) -> None:
    _pulumi(tmp_path / "cache" / "tools" / "bin", "v3.274.1")
    path = str(tmp_path / "cache" / "tools" / "bin")
    assert installed_pulumi(tmp_path / "cache", path=path) is None


def test_no_engine_is_no_engine(tmp_path: Path) -> None:
    assert installed_pulumi(tmp_path / "cache", path=str(tmp_path)) is None
