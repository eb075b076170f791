"""The demo as a person runs it: twice in one home, with nothing left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.cli import Stack
from rehearsal.cloud.client import Cloud
from rehearsal.demo import DemoError, alone
from rehearsal.demo import demo as run_demo
from rehearsal.environment import CHECKOUT
from rehearsal.toolchain import folder

pytestmark = pytest.mark.rehearsal


def demo(home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rehearsal", "demo", "--stack", "rehearsal-guide"],
        cwd=CHECKOUT,
        env={**os.environ, "REHEARSAL_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def test_a_demo_shows_each_stage_and_begins_anew_the_next_time(tmp_path: Path) -> None:
    if not folder.is_complete():
        pytest.skip("no toolchain: `make setup` builds it")
    try:
        first = demo(tmp_path)
        assert first.returncode == 0, first.stdout + first.stderr
        assert "trainer of project rehearsal-standin: the stand-in" in first.stdout
        for proof in (
            "/max-text-format/0/commit_success.txt",
            "/trained/sft/checkpoints/1000/commit_success.txt",
            "/hf-trained/sft/1000/model.safetensors.index.json",
        ):
            assert proof in first.stdout
        assert "0.820 at step 1000" in first.stdout
        assert (tmp_path / "loss-rehearsal-guide.png").read_bytes().startswith(b"\x89PNG")
        assert Cloud(tmp_path).status() == {"running": False}
        again = demo(tmp_path)
        assert again.returncode == 0, again.stdout + again.stderr
        assert "removing the results of the last demo" in again.stdout
        assert "0.820 at step 1000" in again.stdout
    finally:
        Cloud(tmp_path).down()


def test_a_second_demo_in_a_home_leaves_the_first_ones_cloud_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[Path] = []
    monkeypatch.setattr(Cloud, "down", lambda cloud: ended.append(cloud.home))
    with alone(tmp_path), pytest.raises(DemoError, match="another demo runs in"):
        run_demo(Stack("rehearsal-guide", tmp_path), keep=False)
    assert ended == []
    with alone(tmp_path):
        pass
