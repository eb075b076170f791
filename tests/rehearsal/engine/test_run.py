"""A run from an empty project to its outputs, and everything after it that must not run again."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rehearsal.cli import CHECKOUT, Stack
from tests.rehearsal.engine.conftest import Guide
from tests.rehearsal.engine.deployment import NAME, Deployment
from tests.rehearsal.engine.outcome import STAGES

pytestmark = pytest.mark.rehearsal


def test_preview_of_a_new_stack_shows_all_stages_without_a_cluster_or_credentials(
    guide: Guide,
) -> None:
    assert guide.preview.code == 0, guide.preview.text
    assert guide.preview.operations() == dict.fromkeys(STAGES, "create")
    assert not guide.cloud_after_preview


def test_stages_run_one_after_the_other_and_are_proven(guide: Guide) -> None:
    assert guide.first_up.operations() == dict.fromkeys(STAGES, "create")
    states = guide.deployment.stage_states()
    times = []
    for stage in STAGES:
        outputs = states[stage]["outputs"]
        assert outputs["state"] == "proven"
        assert outputs["proven_digest"]
        jobset = guide.deployment.jobsets()[outputs["manifest"]["metadata"]["name"]]
        assert jobset["metadata"]["uid"] == outputs["jobset_uid"]
        times += [jobset["metadata"]["creationTimestamp"], outputs["finished_at"]]
    assert times == sorted(times)
    assert states["sft"]["outputs"]["committed_step"] == 1000


def test_outputs_list_the_stages_in_the_order_of_the_run(guide: Guide) -> None:
    stages = guide.outputs["stages"]
    assert [stage["name"] for stage in stages] == list(STAGES)
    assert [stage["url"].removeprefix("gs://rehearsal-standin-results/") for stage in stages] == [
        "gemma4-31b/max-text-format/0/items/",
        "gemma4-31b/trained/sft/checkpoints/1000/model_params/",
        "gemma4-31b/hf-trained/sft/1000/",
    ]
    times = [stage[key] for stage in stages for key in ("started", "finished")]
    assert times == sorted(times)
    assert stages[1]["figures"]["last_loss"] < stages[1]["figures"]["first_loss"]


def test_token_is_in_the_secret_and_nowhere_else(guide: Guide) -> None:
    deployment, canary = guide.deployment, guide.canary
    cluster = deployment.cluster()
    secrets: list[Any] = cluster.core.list_namespaced_secret(deployment.namespace).items
    assert [base64.b64decode(*secret.data.values()).decode() for secret in secrets] == [canary]
    texts = {
        "state": json.dumps(deployment.export()),
        "jobsets": json.dumps(deployment.jobsets()),
        "pods": str(cluster.core.list_namespaced_pod(deployment.namespace)),
        "stack file": deployment.file.read_text(),
        "arguments": guide.arguments_while_training.decode(errors="replace"),
    }
    assert b"train_sft" in guide.arguments_while_training
    assert [name for name, text in texts.items() if canary in text] == []
    assert deployment.files_with(canary) == []


def test_jobsets_removed_by_hand_and_reformatted_code_elsewhere_run_nothing_again(
    guide: Guide, tmp_path: Path
) -> None:
    deployment, before = guide.deployment, guide.deployment.version()
    for name in sorted(deployment.jobsets()):
        deployment.cluster().delete(name)
    document, preview = deployment.preview()
    assert set(document["changeSummary"]) == {"same"}, preview.text
    elsewhere = _reformatted_checkout(tmp_path / "elsewhere")
    shutil.copy(deployment.file, elsewhere)
    moved = Deployment(Stack(NAME, deployment.home, elsewhere), {})
    outcomes = [
        deployment.up(),
        moved.up(),
        deployment.pulumi("refresh", "--yes", "--skip-preview"),
        deployment.up("--refresh"),
    ]
    for outcome in outcomes:
        assert outcome.code == 0, outcome.text
        assert outcome.changed() == set(), outcome.text
    assert deployment.added(before) == []
    assert deployment.stack.outputs() == guide.outputs


def _reformatted_checkout(folder: Path) -> Path:
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("infra", "workloads"):
        shutil.copytree(CHECKOUT / name, folder / name, ignore=ignored)
    for name in ("__main__.py", "Pulumi.yaml"):
        shutil.copy(CHECKOUT / name, folder)
    for module in folder.rglob("*.py"):
        module.write_text(f"# reformatted\n\n{module.read_text()}\n")
    (folder / ".venv").symlink_to(CHECKOUT / ".venv")
    return folder
