"""The guide's three commands with the real MaxText: what it exports is what it trained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rehearsal import maxtext_environment, maxtext_run, objectstore, tinymodel

pytestmark = pytest.mark.maxtext

ROOT = f"gs://{maxtext_run.BUCKET}/{maxtext_run.MODEL}"
BASE_EXPORT = "base-export"


@dataclass
class Finished:
    """A home in which all stages have run, and the object store still does."""

    home: Path
    ports: dict[str, int]
    logs: dict[str, str]

    def compare(self, *arguments: str) -> dict[str, Any]:
        """Return the comparison that the MaxText environment makes."""
        return maxtext_run.compare(self.home, *arguments)

    @property
    def model(self) -> Path:
        """The folder of the model's objects."""
        return objectstore.data_folder(self.home) / maxtext_run.BUCKET / maxtext_run.MODEL


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """One run of all stages; the base is exported too, untrained."""
    if maxtext_environment.environment() is None:
        pytest.skip("no MaxText: `python -m rehearsal.maxtext_environment` builds it")
    home = tmp_path_factory.mktemp("maxtext")
    with maxtext_run.services(home) as ports:
        figures = {stage: maxtext_run.run_stage(home, stage) for stage in maxtext_run.STAGES}
        logs = {stage: took.log.read_text(errors="replace") for stage, took in figures.items()}
        maxtext_run.export_base(home, f"{ROOT}/{BASE_EXPORT}/")
        yield Finished(home, ports, logs)


def test_loss_falls(finished: Finished) -> None:
    losses = [
        float(text)
        for text in re.findall(r"completed step: .*? loss: ([0-9.]+)", finished.logs["sft"])
    ]
    assert len(losses) == maxtext_run.STEPS
    assert sum(losses[-5:]) < sum(losses[:5]) - 5


def test_newest_checkpoint_is_committed_and_is_the_last_step(finished: Finished) -> None:
    folder = finished.model / "trained" / maxtext_run.RUN_NAME / "checkpoints"
    committed = [int(path.parent.name) for path in folder.glob("*/commit_success.txt")]
    assert max(committed) == maxtext_run.STEPS


def test_profile_is_in_the_bucket(finished: Finished) -> None:
    """It comes from the one client that only the TLS proxy brings to the local store."""
    folder = finished.model / "trained" / maxtext_run.RUN_NAME / "tensorboard"
    assert list(folder.glob("plugins/profile/*/*.xplane.pb"))


def test_export_is_the_checkpoint_in_bfloat16(finished: Finished) -> None:
    run = f"{maxtext_run.RUN_NAME}/checkpoints/{maxtext_run.STEPS}/model_params/"
    export = f"{ROOT}/hf-trained/{maxtext_run.RUN_NAME}/{maxtext_run.STEPS}/"
    found = finished.compare("trained", f"{ROOT}/trained/{run}", export)
    assert found["agrees"], found
    assert found["tensors"] == tinymodel.TENSORS


def test_trained_model_is_not_the_base(finished: Finished) -> None:
    """Guards the comparison itself: a run that trained nothing would pass every other test."""
    run = f"{maxtext_run.RUN_NAME}/checkpoints/{maxtext_run.STEPS}/model_params/"
    found = finished.compare("trained", f"{ROOT}/trained/{run}", f"{ROOT}/{BASE_EXPORT}/")
    assert not found["agrees"]
    assert len(found["different"]) > tinymodel.TENSORS / 2


def test_base_comes_back_but_for_the_embeddings_last_place(finished: Finished) -> None:
    """The embedding is scaled on the way in and back on the way out, and rounded both times."""
    original = str(tinymodel.folder() / tinymodel.MODEL)
    found = finished.compare("base", original, f"{ROOT}/{BASE_EXPORT}/")
    assert found["agrees"], found
    assert 0.05 < found["embedding_share_different"] < 0.3
