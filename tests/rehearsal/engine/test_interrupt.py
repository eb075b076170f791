"""Commands that are interrupted or killed while a stage runs, and the ones that come after."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.cli import Stack
from rehearsal.cloud.client import Cloud
from rehearsal.google.projects import NUMBERS
from tests.rehearsal.engine.command import Command
from tests.rehearsal.engine.deployment import PROJECT, Deployment, make_program, opened
from tests.rehearsal.engine.processes import freeze, gone_within, thaw, trainers_of

pytestmark = pytest.mark.rehearsal

UP = ("up", "--yes", "--skip-preview")
PROVIDER = "workloads.provider"
ATTACHED = "attached to JobSet sft-sft"
HOSTS = 2


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with opened(tmp_path_factory.mktemp("interrupt"), tpu="v6e-8", steps=50) as made:
        yield made


def test_an_interrupted_command_is_back_in_seconds_and_says_that_the_jobset_goes_on(
    deployment: Deployment,
) -> None:
    with deployment.started(*UP) as command:
        _freeze_training(deployment, command)
        outcome = command.interrupt()
    assert outcome.seconds <= 4
    assert outcome.code != 0
    assert "interrupted" in outcome.text
    assert (
        "if it runs it goes on and bills, and the next `pulumi up` attaches to it" in outcome.text
    )
    assert deployment.stage_states()["sft"]["outputs"]["state"] == "interrupted"
    assert deployment.export()["deployment"].get("pending_operations", []) == []


def test_the_provider_ends_with_a_command_line_that_is_killed(deployment: Deployment) -> None:
    uid = deployment.jobsets()["sft-sft"]["metadata"]["uid"]
    with deployment.started(*UP) as command:
        command.says(ATTACHED)
        provider = command.plugin(PROVIDER)
        command.kill()
        assert gone_within(provider, 2)
    assert deployment.jobsets()["sft-sft"]["metadata"]["uid"] == uid


def test_a_killed_command_leaves_a_lock_that_cancel_takes_away(deployment: Deployment) -> None:
    locked = deployment.up()
    assert locked.code != 0
    assert "locked" in locked.text
    assert "pulumi cancel" in locked.text
    deployment.must("cancel", "--yes")


def test_a_killed_provider_fails_the_command_and_leaves_the_jobset(deployment: Deployment) -> None:
    with deployment.started(*UP) as command:
        command.says(ATTACHED)
        os.kill(command.plugin(PROVIDER), signal.SIGKILL)
        outcome = command.wait()
    assert outcome.code != 0
    assert "sft-sft" in deployment.jobsets()


def test_a_second_stack_with_the_same_bucket_and_run_is_refused_at_the_start(
    deployment: Deployment, tmp_path: Path
) -> None:
    program = make_program(tmp_path / "program")
    second = Deployment(Stack("second", deployment.home, program), deployment.settings)
    second.configure(
        cluster={
            "name": "second",
            "tpu": "v6e-8",
            "tpu_topology": None,
            "existing_bucket": True,
            "project_number": int(NUMBERS[PROJECT]),
        },
        run={"steps": 50},
    )
    second.stack.ensure()
    try:
        outcome = second.up()
        assert outcome.code != 0
        refusal = outcome.messages("error")
        assert "gemma4-31b/trained/sft/ is in use: stack maxtext-sft/rehearsal-guide" in refusal
        assert "choose another `run.name`" in refusal
        assert second.jobsets() == {}
        assert sorted(second.stage_states()) == ["hf-to-mt"]
    finally:
        Cloud(deployment.home).delete_cluster(PROJECT, "us-east5", "second")


def test_the_next_up_attaches_and_there_was_one_jobset_in_all(deployment: Deployment) -> None:
    uid = deployment.jobsets()["sft-sft"]["metadata"]["uid"]
    with deployment.started(*UP) as command:
        command.says(ATTACHED)
        thaw(trainers_of(deployment.home))
        outcome = command.wait()
    assert outcome.code == 0, outcome.text
    state = deployment.stage_states()["sft"]["outputs"]
    assert (state["state"], state["jobset_uid"], state["attempts"]) == ("proven", uid, 1)
    jobs = deployment.jobsets()
    assert sorted(jobs) == ["hf-to-mt-gemma4-31b", "mt-to-hf-sft", "sft-sft"]
    assert jobs["sft-sft"]["metadata"]["uid"] == uid


def test_destroy_works_right_after_an_interrupt(deployment: Deployment) -> None:
    deployment.configure(run={"name": "second"})
    deployment.trainer(seconds_per_step=1, swallow_sigterm=False)
    with deployment.started(*UP) as command:
        command.until(lambda: len(trainers_of(deployment.home)) == HOSTS)
        command.interrupt()
    outcome = deployment.pulumi("destroy", "--yes", "--skip-preview")
    assert outcome.code == 0, outcome.text
    assert deployment.export()["deployment"].get("resources", []) == []
    assert trainers_of(deployment.home) == []


def _freeze_training(deployment: Deployment, command: Command) -> None:
    """Let the training stand still as soon as all its hosts are there, for as long as needed."""
    command.until(lambda: len(trainers_of(deployment.home)) == HOSTS)
    freeze(trainers_of(deployment.home))
