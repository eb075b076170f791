"""The end of a run's place, and its results after that."""

from __future__ import annotations

import shutil

import pytest

from rehearsal.cloud.client import Cloud
from rehearsal.environment import prepare
from tests.rehearsal.engine.conftest import Guide
from tests.rehearsal.engine.deployment import BUCKET, Deployment
from tests.rehearsal.engine.outcome import Object

pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module")
def outputs(guide: Guide) -> Object:
    """What the stack answered before its end."""
    return guide.deployment.stack.outputs()


@pytest.fixture(scope="module")
def deployment(guide: Guide, outputs: Object) -> Deployment:
    return guide.deployment


def test_destroy_keeps_the_bucket_and_every_result(deployment: Deployment) -> None:
    before = {name: blob.generation for name, blob in deployment.objects().items()}
    outcome = deployment.pulumi("destroy", "--yes", "--skip-preview")
    assert outcome.code == 0, outcome.text
    assert deployment.export()["deployment"].get("resources", []) == []
    Cloud(deployment.home).ensure_running()
    assert {name: blob.generation for name, blob in deployment.objects().items()} == before
    assert any(name.endswith("stage-record.json") for name in before)


def test_up_with_an_empty_state_names_the_setting_that_takes_the_bucket_back(
    deployment: Deployment,
) -> None:
    shutil.rmtree(deployment.home / "state")
    prepare(deployment.home)
    deployment.stack.ensure()
    outcome = deployment.up()
    assert outcome.code != 0
    assert "cluster.adopt_bucket" in outcome.messages("error"), outcome.text
    assert deployment.stage_states() == {}


def test_with_the_setting_no_stage_runs_and_the_outputs_are_the_same(
    deployment: Deployment, outputs: Object
) -> None:
    deployment.configure(cluster={"adopt_bucket": True})
    outcome = deployment.up()
    assert outcome.code == 0, outcome.text
    assert deployment.jobsets() == {}
    assert deployment.stack.outputs() == outputs


def test_destroy_of_what_somebody_removed_already_ends_well_and_takes_results_only_if_asked(
    deployment: Deployment,
) -> None:
    deployment.configure(cluster={"adopt_bucket": None, "delete_bucket_on_destroy": True})
    outcome = deployment.up()
    assert outcome.code == 0, outcome.text
    # Nothing has run in this cluster, so the JobSets are missing too.
    assert deployment.jobsets() == {}
    deployment.cluster().core.delete_namespace(deployment.namespace)
    deployment.must("refresh", "--yes", "--skip-preview")
    states = deployment.stage_states().values()
    assert [item["outputs"]["state"] for item in states] == ["proven"] * 3
    deployment.must("destroy", "--yes", "--skip-preview")
    assert deployment.export()["deployment"].get("resources", []) == []
    assert not Cloud(deployment.home).bucket_exists(BUCKET)


def test_no_command_of_the_whole_story_has_told_the_token(guide: Guide) -> None:
    assert guide.deployment.files_with("cluster.adopt_bucket") != []
    assert guide.deployment.files_with(guide.canary) == []
