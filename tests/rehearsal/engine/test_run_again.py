"""Changes of a finished run: what continues it, what is refused, and what trains anew."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.rehearsal.engine.conftest import Guide
from tests.rehearsal.engine.deployment import Deployment
from tests.rehearsal.engine.outcome import STAGES, Object, stage_of

pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module")
def deployment(guide: Guide) -> Deployment:
    return guide.deployment


def test_preview_of_more_steps_shows_the_stages_that_run_and_the_new_value(
    deployment: Deployment,
) -> None:
    deployment.configure(run={"steps": 1200})
    document, outcome = deployment.preview()
    assert [outcome.operations()[stage] for stage in STAGES] == ["same", "update", "update"]
    # The document leaves out what stays the same.
    steps = {stage_of(step["urn"]): step for step in document["steps"] if step["op"] != "same"}
    assert [stage for stage in STAGES if stage in steps] == ["sft", "mt-to-hf"]
    sft = steps["sft"]
    assert sft["detailedDiff"]["settings.steps"]["kind"] == "update"
    assert _steps(sft["oldState"]) == 1000
    assert _steps(sft["newState"]) == 1200
    assert "learning rate jumps up again" in outcome.messages("warning")


def test_more_steps_continue_from_the_last_checkpoint(deployment: Deployment) -> None:
    before = deployment.version()
    outcome = deployment.up("--diff")
    assert outcome.code == 0, outcome.text
    assert re.search(r"steps\s*: 1000 => 1200", outcome.text), outcome.text
    assert outcome.operations() == {"hf-to-mt": "same", "sft": "update", "mt-to-hf": "update"}
    assert deployment.added(before) == ["mt-to-hf-sft", "sft-sft"]
    log = _log(deployment, "sft-sft", host=0)
    assert "Restored params from step: 1000" in log
    trained = [int(step) for step in re.findall(r"completed step: (\d+)", log)]
    assert trained == list(range(1001, 1201))
    assert deployment.stack.outputs()["stages"][2]["url"].endswith("/hf-trained/sft/1200/")


def test_fewer_steps_are_refused_in_preview_with_the_way_out(deployment: Deployment) -> None:
    deployment.configure(run={"steps": 900})
    outcome = deployment.pulumi("preview")
    assert outcome.code != 0
    assert "already holds step 1200" in outcome.messages("error")
    assert "Set `run.steps` to 1200 or more, or choose a new `run.name`" in outcome.text


def test_another_learning_rate_under_the_same_name_is_refused_in_preview(
    deployment: Deployment,
) -> None:
    deployment.configure(run={"steps": 1200, "learning_rate": 1e-4})
    outcome = deployment.pulumi("preview")
    assert outcome.code != 0
    assert "learning_rate" in outcome.messages("error")
    assert "Choose a new `run.name`" in outcome.text


def test_a_new_name_trains_anew_in_its_own_directory_and_converts_nothing(
    deployment: Deployment,
) -> None:
    deployment.configure(run={"name": "second", "steps": 40})
    old = set(deployment.objects("gemma4-31b/trained/sft/"))
    before = deployment.version()
    outcome = deployment.up()
    assert outcome.code == 0, outcome.text
    assert outcome.operations()["hf-to-mt"] == "same"
    assert deployment.added(before) == ["mt-to-hf-second", "sft-second"]
    assert "completed step: 1," in _log(deployment, "sft-second", host=0)
    record = deployment.record("gemma4-31b/trained/second/")
    assert record["proven"]["document"]["settings"]["learning_rate"] == 1e-4
    assert set(deployment.objects("gemma4-31b/trained/sft/")) == old


def _steps(state: Object) -> int:
    return int(state["inputs"]["settings"]["steps"])


def _log(deployment: Deployment, jobset: str, *, host: int) -> str:
    cluster = deployment.cluster()
    label = f"jobset.sigs.k8s.io/jobset-name={jobset}"
    pods: list[Any] = cluster.core.list_namespaced_pod(
        deployment.namespace, label_selector=label
    ).items
    key = "batch.kubernetes.io/job-completion-index"
    names = {int(pod.metadata.annotations[key]): pod.metadata.name for pod in pods}
    text: str = cluster.core.read_namespaced_pod_log(names[host], deployment.namespace)
    return text
