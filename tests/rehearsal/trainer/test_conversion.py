"""Stages `hf-to-mt` and `mt-to-hf` of the stand-in leave trees that pass for the real ones."""

from __future__ import annotations

import json

import pytest

from tests.rehearsal.trainer.conftest import STORE, Trainer


def test_base_is_complete_with_its_markers_last(trainer: Trainer) -> None:
    outcome = trainer.convert()
    assert outcome.codes == [0]
    assert "saved a checkpoint at step 0" in outcome.logs[0]
    written = trainer.times("max-text-format/0/")
    ordered = sorted(written, key=lambda name: written[name])
    assert ordered[-2:] == ["items/commit_success.txt", "commit_success.txt"]
    assert len(written) == 471
    metadata = json.loads(trainer.content("max-text-format/0/_CHECKPOINT_METADATA"))
    assert metadata["custom_metadata"] == {"scan_layers": True}


def test_embedding_has_the_real_models_shape(trainer: Trainer) -> None:
    trainer.convert()
    name = "max-text-format/0/items/params.params.token_embedder.embedding/.zarray"
    array = json.loads(trainer.content(name))
    assert (array["shape"], array["dtype"]) == ([262144, 5376], "bfloat16")


def test_base_that_is_there_is_kept_without_a_word(trainer: Trainer) -> None:
    trainer.convert()
    before = trainer.times("max-text-format/")
    outcome = trainer.convert()
    assert outcome.codes == [0]
    assert "saved a checkpoint" not in outcome.logs[0]
    assert "Conversion complete" in outcome.logs[0]
    assert trainer.times("max-text-format/") == before


def test_base_cut_short_has_no_marker(trainer: Trainer) -> None:
    trainer.tell(faults={"hf-to-mt": {"kind": "partial_checkpoint"}})
    assert trainer.convert().codes == [137]
    assert not [name for name in trainer.names("max-text-format/") if "commit_success" in name]
    metadata = json.loads(trainer.content("max-text-format/0/_CHECKPOINT_METADATA"))
    assert metadata["commit_timestamp_nsecs"] is None


def test_bucket_that_is_not_there_is_named(trainer: Trainer) -> None:
    outcome = trainer.run("hf-to-mt", "base_output_directory=gs://nowhere/x/")
    assert outcome.codes == [1]
    assert "GCS bucket 'gs://nowhere' not found or accessible." in outcome.logs[0]


def test_export_holds_832_tensors_and_its_index_last(trainer: Trainer) -> None:
    trainer.train("steps=1")
    assert trainer.export(1).codes == [0]
    written = trainer.times("hf-trained/")
    assert max(written, key=lambda name: written[name]) == "model.safetensors.index.json"
    index = json.loads(trainer.content("hf-trained/model.safetensors.index.json"))
    assert len(index["weight_map"]) == 832
    data = 0
    for file in sorted(set(index["weight_map"].values())):
        shard = trainer.content(f"hf-trained/{file}")
        length = int.from_bytes(shard[:8], "little")
        header = json.loads(shard[8 : 8 + length])
        entries = [entry for name, entry in header.items() if name != "__metadata__"]
        end = max(entry["data_offsets"][1] for entry in entries)
        assert len(shard) == 8 + length + end
        assert {entry["dtype"] for entry in entries} == {"BF16"}
        data += end
    assert index["metadata"]["total_size"] == data


def test_export_without_one_shard_still_has_its_index(trainer: Trainer) -> None:
    trainer.tell(faults={"mt-to-hf": {"kind": "missing_shard", "at_step": 7}})
    trainer.train("steps=1")
    assert trainer.export(1).codes == [0]
    names = trainer.names("hf-trained/")
    assert "model.safetensors.index.json" in names
    shards = {f"model-{number:05d}-of-00020.safetensors" for number in range(1, 21)}
    assert shards - set(names) == {"model-00007-of-00020.safetensors"}


def test_export_of_a_step_that_is_not_there_fails(trainer: Trainer) -> None:
    outcome = trainer.export(1000)
    assert outcome.codes == [1]
    assert "No valid Orbax checkpoint found" in outcome.logs[0]


def test_export_of_gemma4_31b_needs_its_flag(trainer: Trainer) -> None:
    trainer.train("steps=1")
    outcome = trainer.run(
        "mt-to-hf",
        "model_name=gemma4-31b",
        f"load_parameters_path={STORE}/trained/sft/checkpoints/1/model_params/",
        f"base_output_directory={STORE}/hf-trained/",
    )
    assert outcome.codes == [1]
    assert "moe_intermediate_size" in outcome.logs[0]


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ("foo_bar=1", "'foo_bar' not in "),
        ("--foo", "Unknown command line flag 'foo'"),
        ("steps=abc", "Input should be a valid integer"),
    ],
)
def test_bad_argument_exits_with_1_and_the_real_words(
    trainer: Trainer, argument: str, text: str
) -> None:
    outcome = trainer.train(argument)
    assert outcome.codes == [1]
    assert text in outcome.logs[0]
    assert text in (trainer.home / "termination-log").read_text()


def test_config_error_on_demand_reaches_the_termination_log(trainer: Trainer) -> None:
    trainer.tell(faults={"sft": {"kind": "config_error", "message": "head_dim is 3"}})
    assert trainer.train("steps=1").codes == [1]
    text = (trainer.home / "termination-log").read_text()
    assert "MAXTEXT CONFIG ERROR: head_dim is 3" in text
