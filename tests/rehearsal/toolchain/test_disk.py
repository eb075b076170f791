"""A build that cannot end does not start."""

from pathlib import Path

import pytest

from rehearsal.toolchain.disk import check_free, free_gb, used_gb
from rehearsal.toolchain.failure import ToolchainError


def test_too_little_disk_is_said_with_both_figures_and_the_setting() -> None:
    with pytest.raises(ToolchainError, match=r"needs 6\.5 GB, 3\.2 GB are free.*REHEARSAL_CACHE"):
        check_free(Path("/cache"), needed_gb=6.5, available_gb=3.2)


def test_enough_disk_is_enough() -> None:
    check_free(Path("/cache"), needed_gb=6.5, available_gb=6.5)


def test_what_an_interrupted_build_holds_is_not_needed_again() -> None:
    check_free(Path("/cache"), needed_gb=6.5, available_gb=3.2, held_gb=4.0)


def test_the_disk_of_a_folder_that_is_not_there_yet_is_known(tmp_path: Path) -> None:
    assert free_gb(tmp_path / "a" / "b") == pytest.approx(free_gb(tmp_path), rel=0.1)


def test_what_a_folder_holds_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 3_000_000)
    assert used_gb(tmp_path / "a") == pytest.approx(0.003, rel=0.01)
    assert used_gb(tmp_path / "absent") == 0
