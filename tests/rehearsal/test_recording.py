from __future__ import annotations

import json
from pathlib import Path

import pytest

from rehearsal import maxtext_run, recording, tinymodel

COMMITTED = '{"init_timestamp_nsecs": 1796146433563923109, "commit_timestamp_nsecs": 1796146434396}'


@pytest.mark.parametrize(
    ("text", "neutral"),
    [
        (
            "Checkpoint commit was successful to gs://b/m/max-text-format/0/items",
            "Checkpoint commit was successful to @ROOT@/items",
        ),
        (
            "Checkpoint commit was successful to gs://b/m/trained/sft/checkpoints/20",
            "Checkpoint commit was successful to @ROOT@",
        ),
        (
            COMMITTED,
            '{"init_timestamp_nsecs": @INIT@, "commit_timestamp_nsecs": @COMMIT@}',
        ),
    ],
)
def test_recorded_text_says_nothing_of_the_recorded_run(text: str, neutral: str) -> None:
    assert recording._neutral(text) == neutral


def test_recording_keeps_metadata_texts_and_sizes_of_the_rest(tmp_path: Path) -> None:
    model = tmp_path / "model"
    run = f"trained/{maxtext_run.RUN_NAME}/checkpoints/20"
    header = json.dumps({"__metadata__": {}, "w": {"dtype": "BF16", "shape": [2, 3]}}).encode()
    export = f"hf-trained/{maxtext_run.RUN_NAME}/20"
    for name, data in {
        "max-text-format/0/commit_success.txt": b"Checkpoint commit was successful to gs://b/0",
        "max-text-format/0/items/w/0.0": b"x" * 99,
        f"{run}/_CHECKPOINT_METADATA": COMMITTED.encode(),
        f"{export}/config.json": b"{}",
        f"{export}/{maxtext_run.PLACEHOLDER}": b"{}",
        f"{export}/model.safetensors": len(header).to_bytes(8, "little") + header,
    }.items():
        path = model / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    recording.record(model, 20, tmp_path / "out")
    base = json.loads((tmp_path / "out" / "base.json").read_text())
    assert base["items/w"] == {"0.0": 99}
    assert base[""] == {"commit_success.txt": "Checkpoint commit was successful to @ROOT@"}
    found = json.loads((tmp_path / "out" / "export.json").read_text())
    assert found == {"files": {"config.json": "{}"}, "tensors": {"w": [2, 3]}}


def test_recorded_export_is_the_tiny_model() -> None:
    """The names come from a real run: the table of the tiny model has to agree with it."""
    found = json.loads((recording.TARGET / "export.json").read_text())["tensors"]
    assert {name: tuple(shape) for name, shape in found.items()} == dict(tinymodel.shapes())


def test_recording_knows_nothing_of_where_it_was_made() -> None:
    for path in recording.TARGET.iterdir():
        assert "gs://" not in path.read_text(), path
