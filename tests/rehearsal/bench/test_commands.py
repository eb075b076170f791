import os
import re
import subprocess
from pathlib import Path

import pytest

from rehearsal.bench.commands import BenchError, plain_environment, started, timed


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def test_a_command_that_fails_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"(?s)exit code 3.*the reason"):
        timed(shell("echo the reason; exit 3"), os.environ, tmp_path, tmp_path / "output")


def test_a_command_that_takes_too_long_is_an_error_and_is_ended(tmp_path: Path) -> None:
    script = "echo $$; exec sleep 600"
    with pytest.raises(BenchError, match="did not end within 0 s"):
        timed(shell(script), os.environ, tmp_path, tmp_path / "output", seconds=0.2)
    pid = int((tmp_path / "output").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_a_command_that_still_runs_is_interrupted_and_can_tidy_up(tmp_path: Path) -> None:
    script = "trap 'echo tidied; exit 1' INT; echo ready; while :; do sleep 0.05; done"
    with started(shell(script), os.environ, tmp_path, tmp_path / "output") as command:
        command.until(lambda: "ready" in command.text, seconds=30)
    assert command.process.returncode == 1
    assert command.text.endswith("tidied\n")


def test_waiting_for_a_condition_fails_when_the_command_ends_before(tmp_path: Path) -> None:
    with (
        started(shell("echo over"), os.environ, tmp_path, tmp_path / "output") as command,
        pytest.raises(BenchError, match=r"(?s)did not come as far.*over"),
    ):
        command.until(lambda: False, seconds=30)


def test_a_demo_is_not_measured_under_an_outer_makes_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("MAKEFLAGS", "STACK", "KEEP", "REHEARSAL_HOME", "PULUMI_BACKEND_URL"):
        monkeypatch.setenv(name, "of the outer shell")
    monkeypatch.setenv("REHEARSAL_CACHE", "/where/the/tools/are")
    printed = subprocess.run(["env"], env=plain_environment(), capture_output=True, text=True)
    assert "of the outer shell" not in printed.stdout
    assert re.search("(?m)^REHEARSAL_CACHE=/where/the/tools/are$", printed.stdout)
