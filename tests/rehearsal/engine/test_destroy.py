"""A stack that ends in the middle of its first run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rehearsal.engine.deployment import Deployment, opened

pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with opened(tmp_path_factory.mktemp("destroy"), tpu="v6e-4", steps=8, max_restarts=0) as made:
        yield made


def test_a_first_run_that_failed_half_way_is_destroyed_completely(deployment: Deployment) -> None:
    deployment.trainer(faults={"hf-to-mt": {"kind": "exit", "exit_code": 3}})
    outcome = deployment.up("--continue-on-error")
    assert outcome.code != 0
    # Even told to go on, nothing runs that lacks its input.
    assert sorted(deployment.stage_states()) == ["hf-to-mt"]
    assert sorted(deployment.jobsets()) == ["hf-to-mt-gemma4-31b"]
    outcome = deployment.pulumi("destroy", "--yes", "--skip-preview")
    assert outcome.code == 0, outcome.text
    assert deployment.export()["deployment"].get("resources", []) == []
