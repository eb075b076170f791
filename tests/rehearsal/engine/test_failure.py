"""Runs that fail: what the command says, how soon, and what the next one does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.rehearsal.engine.deployment import Deployment, opened
from tests.rehearsal.engine.outcome import STAGES, Outcome

pytestmark = pytest.mark.rehearsal

MESSAGE = "the pump of host 5 stands still"
EXIT = {"kind": "exit", "exit_code": 1, "at_step": 300, "host": 5, "message": MESSAGE}


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("failure")
    with opened(folder, steps=400, max_restarts=0) as made:
        yield made


def test_a_failed_host_ends_the_command_in_seconds_with_its_reason(deployment: Deployment) -> None:
    deployment.trainer(faults={"sft": EXIT})
    outcome = deployment.up()
    assert outcome.code != 0
    pod = _failed_pod(deployment)
    ended = datetime.fromisoformat(pod["state"]["finishedAt"].replace("Z", "+00:00"))
    assert outcome.ended - ended.timestamp() <= 5
    report = outcome.messages("error")
    assert f"pod {pod['name']}" in report
    assert "host 5" in report
    assert "exit code 1" in report
    assert MESSAGE in report
    assert "why: " in report
    assert "what to do: " in report
    assert "hf-to-mt: gs://rehearsal-standin-results/gemma4-31b/max-text-format/0/items/" in report
    assert "GKE control plane: $0.10/h" in report
    assert "pulumi destroy" in report
    assert "`pulumi up` runs this stage again" in report
    assert sorted(deployment.stage_states()) == ["hf-to-mt", "sft"]
    assert "mt-to-hf-sft" not in deployment.jobsets()


def test_a_refresh_does_not_make_a_failed_stage_pass_for_done(deployment: Deployment) -> None:
    deployment.pulumi("refresh", "--yes", "--skip-preview")
    state = deployment.stage_states()["sft"]["outputs"]
    assert (state["state"], state["proven_digest"]) == ("failed", "")


def test_training_that_ends_early_with_exit_code_0_is_no_success(deployment: Deployment) -> None:
    deployment.trainer(faults={"sft": {"kind": "early_end", "at_step": 350}})
    before = deployment.version()
    # Even told to go on, nothing runs that lacks its input.
    outcome = deployment.up("--continue-on-error")
    assert outcome.code != 0
    assert deployment.added(before) == ["sft-sft"]
    report = outcome.messages("error")
    assert "completed, but its result is not there" in report
    assert "350" in report
    assert sorted(deployment.stage_states()) == ["hf-to-mt", "sft"]


def test_a_result_that_is_complete_is_kept_although_its_jobset_failed(
    deployment: Deployment,
) -> None:
    faults = {
        "sft": {"kind": "late_exit", "host": 5},
        "mt-to-hf": {"kind": "missing_shard", "at_step": 7},
    }
    deployment.trainer(faults=faults)
    outcome = deployment.up()
    assert "taken as a success" in outcome.messages("warning"), outcome.text
    state = deployment.stage_states()["sft"]["outputs"]
    assert (state["state"], state["committed_step"]) == ("proven", 400)
    assert _conditions(deployment, "sft-sft") == {"Failed"}


def test_an_export_without_one_of_its_shards_is_no_success(deployment: Deployment) -> None:
    state = deployment.stage_states()["mt-to-hf"]["outputs"]
    assert state["state"] == "failed"
    assert "model-00007-of-00020.safetensors" in state["failure"]
    assert _conditions(deployment, "mt-to-hf-sft") == {"Completed"}


def test_the_next_up_runs_only_what_is_not_proven(deployment: Deployment) -> None:
    deployment.trainer()
    before = deployment.version()
    outcome = deployment.up()
    assert outcome.code == 0, outcome.text
    assert [outcome.operations()[stage] for stage in STAGES] == ["same", "same", "update"]
    assert deployment.added(before) == ["mt-to-hf-sft"]


def test_a_failed_update_keeps_the_old_result_and_runs_again_after_a_refresh(
    deployment: Deployment,
) -> None:
    deployment.configure(run={"steps": 500})
    deployment.trainer(faults={"sft": {"kind": "partial_checkpoint", "at_step": 500}})
    old = deployment.stage_states()["sft"]["outputs"]
    failed = deployment.up()
    assert failed.code != 0
    deployment.pulumi("refresh", "--yes", "--skip-preview")
    kept = deployment.stage_states()["sft"]["outputs"]
    assert kept["proven_digest"] == old["proven_digest"]
    # Never the old result under the new settings.
    assert (kept["state"], kept["settings"]["steps"]) in [("failed", 500), ("proven", 400)]
    deployment.trainer()
    before = deployment.version()
    outcome = deployment.up()
    assert outcome.code == 0, outcome.text
    assert _ran(outcome) == ["sft", "mt-to-hf"]
    assert deployment.added(before) == ["mt-to-hf-sft", "sft-sft"]
    assert deployment.stage_states()["sft"]["outputs"]["committed_step"] == 500


def _ran(outcome: Outcome) -> list[str]:
    return [stage for stage in STAGES if outcome.operations()[stage] != "same"]


def _conditions(deployment: Deployment, jobset: str) -> set[str]:
    conditions = deployment.jobsets()[jobset]["status"]["conditions"]
    held = {item["type"] for item in conditions if item["status"] == "True"}
    return held & {"Completed", "Failed"}


def _failed_pod(deployment: Deployment) -> dict[str, Any]:
    """Return name and terminated state of the pod that failed first by itself."""
    for pod in deployment.cluster().pods().values():
        for status in pod["status"].get("containerStatuses", []):
            state = status["state"].get("terminated", {})
            if state.get("exitCode") == EXIT["exit_code"]:
                return {"name": pod["metadata"]["name"], "state": state}
    raise AssertionError("no pod with the injected exit code is left")
