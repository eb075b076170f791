from pathlib import Path

import pytest

from rehearsal.losscurve import draw, falls


def test_the_curve_is_a_png_file(tmp_path: Path) -> None:
    pytest.importorskip(
        "matplotlib", reason="without matplotlib: `pip install -r requirements-rehearsal.txt`"
    )
    path = tmp_path / "curves" / "loss.png"
    draw([(1, 2.0), (2, 1.5), (3, 1.2)], "run sft", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_run_without_step_lines_has_no_curve(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no 'completed step' line"):
        draw([], "run sft", tmp_path / "loss.png")


@pytest.mark.parametrize(
    ("losses", "falling"), [([3, 2, 1], True), ([1, 2, 3], False), ([2, 2], False), ([], False)]
)
def test_only_a_falling_loss_counts_as_falling(losses: list[float], falling: bool) -> None:
    assert falls(list(enumerate(losses))) is falling
