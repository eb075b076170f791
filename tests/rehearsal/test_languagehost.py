"""The language host under the real engine: what a program gets, and how it ends."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from rehearsal.environment import prepare, variables
from rehearsal.languagehost import readable_traceback
from tests.rehearsal.declared import start_pulumi

PROGRAM = """
import pulumi

config = pulumi.Config()
pulumi.export("project", pulumi.get_project())
pulumi.export("stack", pulumi.get_stack())
pulumi.export("plain", config.require("plain"))
pulumi.export("secret", config.require_secret("secret"))
pulumi.export("object", config.require_object("object"))
pulumi.export("preview", pulumi.runtime.is_dry_run())
"""


class Project:
    """A small Pulumi project with a state of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "program"
        self.folder.mkdir()
        (self.folder / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
        home = folder / "home"
        prepare(home)
        self.environment = os.environ | variables(home)
        self.run("stack", "init", "dev")

    def write(self, program: str) -> None:
        (self.folder / "__main__.py").write_text(program)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return start_pulumi(self.folder, self.environment, *arguments)

    def run(self, *arguments: str) -> tuple[int, str]:
        with self.start(*arguments) as process:
            output, _ = process.communicate(timeout=60)
        return process.returncode, output


@pytest.fixture
def project(tmp_path: Path) -> Project:
    if shutil.which("pulumi", path=variables(tmp_path / "home")["PATH"]) is None:
        pytest.skip("no pulumi: `make setup` builds it")
    return Project(tmp_path)


@pytest.mark.rehearsal
def test_a_program_gets_its_project_stack_config_and_secrets(project: Project) -> None:
    project.write(PROGRAM)
    project.run("config", "set", "plain", "text")
    project.run("config", "set", "--secret", "secret", "canary-4711")
    project.run("config", "set", "--path", "object.steps", "1000")
    code, output = project.run("up", "--yes")
    assert code == 0, output
    assert "canary-4711" not in output
    outputs = json.loads(project.run("stack", "output", "--json", "--show-secrets")[1])
    assert outputs == {
        "object": {"steps": 1000},
        "plain": "text",
        "preview": False,
        "project": "small",
        "secret": "canary-4711",
        "stack": "dev",
    }
    assert json.loads(project.run("stack", "output", "--json")[1])["secret"] == "[secret]"


@pytest.mark.rehearsal
def test_a_program_finds_the_modules_beside_it(project: Project) -> None:
    (project.folder / "beside.py").write_text("NAME = 'beside'\n")
    project.write("import pulumi, beside\npulumi.export('name', beside.NAME)\n")
    assert project.run("up", "--yes")[0] == 0


@pytest.mark.rehearsal
def test_an_error_shows_the_programs_own_frames_and_fails(project: Project) -> None:
    project.write("def steps(text):\n    return int(text)\n\nsteps('abc')\n")
    code, output = project.run("preview")
    assert code != 0
    assert "ValueError: invalid literal for int() with base 10: 'abc'" in output
    assert '__main__.py", line 4, in <module>' in output
    assert "runpy" not in output
    assert "languagehost" not in output


@pytest.mark.rehearsal
def test_an_error_for_people_is_shown_without_a_traceback(project: Project) -> None:
    project.write("import pulumi\nraise pulumi.RunError('steps: abc is not a number')\n")
    code, output = project.run("preview")
    assert code != 0
    assert "steps: abc is not a number" in output
    assert "Traceback" not in output


@pytest.mark.rehearsal
def test_the_projects_own_virtual_environment_runs_the_program(project: Project) -> None:
    own = project.folder / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text(f'#!/bin/sh\ntouch "{project.folder}/used"\nexec "$REHEARSAL_PYTHON" "$@"\n')
    own.chmod(0o755)
    project.write("")
    assert project.run("preview")[0] == 0
    assert (project.folder / "used").exists()


WAITING = """
import os, pathlib, threading
pathlib.Path("started").write_text(str(os.getpid()))
threading.Event().wait()
"""


def _start_waiting(project: Project) -> tuple[subprocess.Popen[str], int]:
    """Start a preview whose program never ends; return it and the process of the host."""
    project.write(WAITING)
    process = project.start("preview")
    started = project.folder / "started"
    tick = threading.Event()
    while not (started.exists() and started.read_text()):
        assert process.poll() is None, process.communicate()
        tick.wait(0.02)
    return process, int(started.read_text())


def _ends_within(pid: int, seconds: float) -> bool:
    """Return whether a process that is not our child ends in time."""
    deadline = time.monotonic() + seconds
    tick = threading.Event()
    while Path(f"/proc/{pid}").exists():
        if time.monotonic() > deadline:
            return False
        tick.wait(0.02)
    return True


@pytest.mark.rehearsal
def test_the_host_ends_within_two_seconds_of_a_killed_engine(project: Project) -> None:
    process, host = _start_waiting(project)
    process.kill()
    assert _ends_within(host, seconds=2)
    process.communicate()


@pytest.mark.rehearsal
def test_an_interrupted_host_ends_quietly(project: Project) -> None:
    process, host = _start_waiting(project)
    # As from a terminal: every process of the foreground gets it.
    os.kill(host, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert _ends_within(host, seconds=2)
    assert "Traceback" not in output
    assert process.returncode != 0


def test_a_traceback_starts_at_the_program(tmp_path: Path) -> None:
    program = tmp_path / "__main__.py"
    program.write_text("raise ValueError('no')\n")
    with pytest.raises(ValueError, match="no") as raised:
        exec(compile(program.read_text(), str(program), "exec"))
    text = readable_traceback(raised.value, tmp_path)
    assert text.splitlines() == [
        "Program failed with an unhandled exception:",
        "Traceback (most recent call last):",
        f'  File "{program}", line 1, in <module>',
        "    raise ValueError('no')",
        "ValueError: no",
    ]
