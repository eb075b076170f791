"""The guide's run, deployed once for every story that begins with a finished run."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rehearsal.cloud.client import Cloud
from rehearsal.environment import CHECKOUT, variables
from tests.rehearsal.engine.deployment import Deployment, opened
from tests.rehearsal.engine.outcome import Object, Outcome
from tests.rehearsal.engine.processes import command_lines, trainers_of

AUTH_PLUGIN = "gke-gcloud-auth-plugin"


@dataclass
class Guide:
    """A deployment with a canary for a token, and what was seen on its way to a finished run."""

    deployment: Deployment
    canary: str
    preview: Outcome
    cloud_after_preview: bool
    first_up: Outcome
    arguments_while_training: bytes
    outputs: Object


@pytest.fixture(scope="package")
def guide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guide]:
    folder = tmp_path_factory.mktemp("guide")
    with opened(folder) as deployment:
        canary = f"hf_{secrets.token_hex(12)}"
        deployment.must("config", "set", "--secret", "hf_token", stdin=canary)
        path = without_auth_plugin(deployment, folder / "bin")
        assert shutil.which(AUTH_PLUGIN, path=path) is None
        preview = deployment.pulumi("preview", "--json", path=path)
        started = bool(Cloud(deployment.home).status()["running"])
        deployment.trainer(seconds_per_step=0.001)
        with deployment.started("up", "--yes", "--skip-preview") as command:
            command.until(lambda: len(trainers_of(deployment.home)) == 8)
            arguments = command_lines()
            first = command.wait()
        assert first.code == 0, first.text
        outputs = deployment.stack.outputs()
        yield Guide(deployment, canary, preview, started, first, arguments, outputs)


def without_auth_plugin(deployment: Deployment, folder: Path) -> str:
    """Return the PATH of a machine on which the credential plugin is not installed."""
    ours = str(CHECKOUT / "rehearsal" / "bin")
    parts = variables(deployment.home)["PATH"].split(os.pathsep)
    folder.mkdir()
    for tool in Path(ours).iterdir():
        # Not a link: the scripts find the checkout beside themselves.
        _write_script(folder / tool.name, f'exec {tool} "$@"')
    with_plugin = [p for p in parts if p != ours and (Path(p) / AUTH_PLUGIN).exists()]
    for tool in (tool for part in with_plugin for tool in Path(part).iterdir()):
        if not (folder / tool.name).is_symlink() and not (folder / tool.name).exists():
            (folder / tool.name).symlink_to(tool)
    (folder / AUTH_PLUGIN).unlink()
    kept = [part for part in parts if part not in with_plugin]
    return os.pathsep.join(str(folder) if part == ours else part for part in kept)


def _write_script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
