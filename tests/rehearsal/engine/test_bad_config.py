"""Settings and machines that cannot work, refused before anything exists."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.cloud.client import Cloud
from tests.rehearsal.engine.deployment import Deployment, make_program, opened

pytestmark = pytest.mark.rehearsal

BAD_CLUSTER = {"name": "a" * 25, "zone": "us-east1-b", "tpu_topology": "4x4", "spott": True}
NAMED = ("cluster.name", "cluster.zone", "cluster.tpu_topology", "cluster.spott", "run.steps")


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with opened(tmp_path_factory.mktemp("bad"), steps="abc") as made:
        made.configure(cluster=BAD_CLUSTER)
        yield made


@pytest.mark.parametrize("command", [["preview"], ["up", "--yes", "--skip-preview"]])
def test_one_message_names_every_bad_setting_and_nothing_is_created(
    deployment: Deployment, command: list[str]
) -> None:
    outcome = deployment.pulumi(*command)
    assert outcome.code != 0
    errors = [event["diagnosticEvent"] for event in outcome.events_of("diagnostic")]
    texts = [event["message"] for event in errors if event["severity"] == "error"]
    with_keys = [text for text in texts if any(key in text for key in NAMED)]
    assert len(with_keys) == 1, outcome.text
    for key in NAMED:
        assert f"- {key} " in with_keys[0]
    assert "16 chips on 4 hosts" in with_keys[0]
    assert "Traceback" not in outcome.text
    resources = deployment.export()["deployment"].get("resources", [])
    assert [item["type"] for item in resources if item["type"] != "pulumi:pulumi:Stack"] == []
    assert not Cloud(deployment.home).status()["running"]
    assert not (deployment.home / "google").exists()


def test_the_provider_without_its_packages_names_the_command_that_installs_them(
    tmp_path: Path,
) -> None:
    program = make_program(tmp_path / "program", without=".venv")
    (program / "requirements.txt").touch()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", program / ".venv"], check=True)
    result = subprocess.run(
        [program / "workloads" / "provider" / "pulumi-resource-maxtext", "127.0.0.1:1"],
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
    )
    assert result.returncode != 0
    assert f"{program}/.venv/bin/python -m pip install -r " in result.stderr
    assert "requirements.txt" in result.stderr
    assert "Traceback" not in result.stderr
