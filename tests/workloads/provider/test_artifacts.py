"""What counts as a finished result, and what never does."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.provider.memory_store import (
    MemoryStore,
    put_base,
    put_export,
    put_step,
    safetensors,
)
from workloads.provider.artifacts import changed_since, occupied, prove
from workloads.provider.proof import Proof
from workloads.provider.safetensors import parse_header

BASE = {
    "kind": "orbax_base",
    "url": "gs://bucket/m/max-text-format/0/items/",
    "scan_layers": True,
    "embedding": {"shape": [262144, 5376], "dtype": "bfloat16"},
}
TRAINING = {
    "kind": "orbax_training",
    "url": "gs://bucket/m/trained/r/checkpoints/",
    "steps": 20,
}
EXPORT = {
    "kind": "safetensors",
    "url": "gs://bucket/m/hf-trained/r/20/",
    "tensor_count": 6,
    "dtype": "bfloat16",
}
ALL = {"base": (BASE, put_base), "training": (TRAINING, lambda s: put_step(s, 20)),
       "export": (EXPORT, put_export)}  # fmt: skip


def problems(proof: Proof) -> str:
    return "\n".join(proof.problems)


@pytest.mark.parametrize("kind", ALL)
def test_a_whole_result_is_proven_with_a_few_kilobytes(store: MemoryStore, kind: str) -> None:
    wanted, put = ALL[kind]
    put(store)
    proof = prove(store, wanted)
    assert proof.complete, proof.problems
    assert proof.object_count > 0
    assert store.bytes_read < 16 * 1024


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("damage", ["removed", "emptied"])
def test_every_decisive_object_is_needed(store: MemoryStore, kind: str, damage: str) -> None:
    wanted, put = ALL[kind]
    put(store)
    for decisive in prove(store, wanted).decisive:
        kept = dict(store.objects)
        if damage == "removed":
            del store.objects[decisive.name]
        else:
            store.objects[decisive.name] = (b"", decisive.generation)
        assert not prove(store, wanted).complete, decisive.name
        store.objects = kept


@pytest.mark.parametrize("kind", ALL)
def test_a_sibling_with_the_same_beginning_never_counts(store: MemoryStore, kind: str) -> None:
    """A16: a prefix without its closing slash also matches siblings."""
    wanted, put = ALL[kind]
    put(store)
    folder = str(wanted["url"]).removeprefix("gs://bucket/")
    moved = {name.replace("m/", "m-it/", 1): content for name, content in store.objects.items()} | {
        name.replace(folder[:-1], folder[:-1] + "-old"): content
        for name, content in store.objects.items()
    }
    store.objects = moved
    assert not prove(store, wanted).complete
    with pytest.raises(ValueError, match="gs://bucket/folder/"):
        prove(store, {**wanted, "url": str(wanted["url"])[:-1]})


@pytest.mark.parametrize("kind", ALL)
def test_an_unfinished_directory_is_listed_and_refused(store: MemoryStore, kind: str) -> None:
    """A15: only what an interrupted save leaves."""
    wanted, _ = ALL[kind]
    folder = str(wanted["url"]).removeprefix("gs://bucket/").removesuffix("items/")
    store.put(f"{folder}20.orbax-checkpoint-tmp/data")
    store.put(f"{folder}20/data")
    proof = prove(store, wanted)
    assert not proof.complete
    assert "data" in problems(proof)


def test_a_base_with_another_layout_or_model_is_not_that_base(store: MemoryStore) -> None:
    put_base(store)
    assert "scan_layers" in problems(prove(store, {**BASE, "scan_layers": False}))
    other = {"shape": [1, 2], "dtype": "bfloat16"}
    assert "embedding" in problems(prove(store, {**BASE, "embedding": other}))
    other = {"shape": [262144, 5376], "dtype": "float32"}
    assert "embedding" in problems(prove(store, {**BASE, "embedding": other}))


def test_metadata_without_a_commit_time_is_no_commit(store: MemoryStore) -> None:
    put_base(store, commit_timestamp_nsecs=None)
    assert "not committed" in problems(prove(store, BASE))


def test_a_base_written_as_ocdbt_is_proven_by_its_markers(store: MemoryStore) -> None:
    put_base(store)
    for name in list(store.objects):
        if "embedding" in name:
            del store.objects[name]
    items = "m/max-text-format/0/items/"
    store.put(f"{items}_METADATA", {"use_ocdbt": True})
    store.put(f"{items}manifest.ocdbt")
    store.put(f"{items}ocdbt.process_0/d/1")
    assert prove(store, BASE).complete


def test_training_that_ended_early_is_told_apart(store: MemoryStore) -> None:
    put_step(store, 13)
    proof = prove(store, TRAINING)
    assert proof.committed_step == 13
    assert "ended early" in problems(proof)
    assert "set `run.steps` to 13" in problems(proof)


def test_a_partial_step_is_named_and_does_not_hide_the_proof(store: MemoryStore) -> None:
    put_step(store, 20)
    store.put("m/trained/r/checkpoints/25/model_params/d/1")
    proof = prove(store, TRAINING)
    assert proof.complete
    assert "25" in proof.warnings[0]


@pytest.mark.parametrize(
    ("sizes", "names", "missing"),
    [
        ({"results.json": 2, "stage-record.json": 9}, ["results.json"], ""),
        ({"results.json": 2}, None, ""),
        ({"other.json": 2}, ["results.json"], "missing: results.json"),
        ({"results.json": 0}, ["results.json"], "missing: results.json"),
        ({"stage-record.json": 9}, None, "no object below"),
        ({"results.json": 0}, None, "no object below"),
        ({}, None, "no object below"),
    ],
)
def test_a_stage_without_markers_is_proven_by_the_objects_it_names(
    store: MemoryStore, sizes: dict[str, int], names: list[str] | None, missing: str
) -> None:
    for name, size in sizes.items():
        store.put(f"m/evaluated/r/{name}", b"x" * size)
    proof = prove(store, {"kind": "objects", "url": "gs://bucket/m/evaluated/r/", "names": names})
    assert proof.complete is (missing == "")
    assert missing in problems(proof)


def test_maxtexts_pruning_of_older_steps_is_no_damage(store: MemoryStore) -> None:
    for step in (10, 15, 20):
        put_step(store, step)
    kept = tuple(
        {"name": i.name, "size": i.size, "generation": i.generation}
        for i in prove(store, TRAINING).decisive
    )
    for name in list(store.objects):
        if "/10/" in name or "/15/" in name:
            del store.objects[name]
    assert changed_since(store, kept) == []
    store.put("m/trained/r/checkpoints/20/commit_success.txt", "again")
    assert changed_since(store, kept) == ["replaced: m/trained/r/checkpoints/20/commit_success.txt"]


def test_an_index_left_from_an_earlier_export_proves_nothing(store: MemoryStore) -> None:
    put_export(store)
    name = "m/hf-trained/r/20/model-00002-of-00003.safetensors"
    store.put(name, store.objects[name][0])
    assert "earlier export" in problems(prove(store, EXPORT))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tensor_count": 7}, "has 6 tensors, the model has 7"),
        ({"dtype": "float32"}, "not float32"),
    ],
)
def test_the_tensors_are_those_of_the_model(
    store: MemoryStore, change: dict[str, Any], says: str
) -> None:
    put_export(store)
    assert says in problems(prove(store, {**EXPORT, **change}))


def test_an_export_in_a_single_file_has_no_index(store: MemoryStore) -> None:
    folder = "m/hf-trained/r/20/"
    store.put(f"{folder}model.safetensors", safetensors({"a": ("BF16", [3])}))
    store.put(f"{folder}config.json", b"{}")
    store.put(f"{folder}tokenizer.json", b"{}")
    assert prove(store, {**EXPORT, "tensor_count": 1}).complete


def test_a_shard_that_lacks_its_end_is_found(store: MemoryStore) -> None:
    put_export(store)
    name = "m/hf-trained/r/20/model-00001-of-00003.safetensors"
    content, generation = store.objects[name]
    store.objects[name] = (content[:-1], generation)
    assert "its header says" in problems(prove(store, EXPORT))


def test_a_header_that_claims_ten_gigabytes_is_not_read(store: MemoryStore) -> None:
    put_export(store)
    name = "m/hf-trained/r/20/model-00001-of-00003.safetensors"
    store.objects[name] = (struct.pack("<Q", 10 * 2**30) + bytes(100), 1)
    assert "claims" in problems(prove(store, EXPORT))
    assert store.bytes_read < 64 * 1024


def test_a_header_longer_than_the_first_read_is_read_whole(store: MemoryStore) -> None:
    folder = "m/hf-trained/r/20/"
    tensors = {f"layer.{i}.weight": ("BF16", [2]) for i in range(1000)}
    store.put(f"{folder}model.safetensors", safetensors(tensors))
    store.put(f"{folder}config.json", b"{}")
    store.put(f"{folder}tokenizer.json", b"{}")
    assert prove(store, {**EXPORT, "tensor_count": 1000}).complete


def test_only_data_makes_a_place_occupied(store: MemoryStore) -> None:
    store.put("m/trained/r/checkpoints/", b"")
    store.put("m/trained/r/notes.txt", b"mine")
    assert occupied(store, TRAINING) == []
    store.put("m/trained/r/checkpoints/5/d", b"x")
    assert occupied(store, TRAINING) == ["m/trained/r/checkpoints/5/d"]


@given(st.binary(max_size=200), st.integers(0, 2**62))
def test_any_header_gets_a_verdict(header: bytes, size: int) -> None:
    assert parse_header(header, size).problem or size == 8 + len(header)


@given(
    st.dictionaries(
        st.text(max_size=4),
        st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["BF16", "F32", "X", 3]),
                "shape": st.lists(st.integers(-2, 2**70), max_size=3) | st.none(),
                "data_offsets": st.lists(st.integers(-5, 2**70), max_size=3),
            }
        ),
        max_size=3,
    )
)
def test_hostile_headers_get_a_verdict(entries: dict[str, Any]) -> None:
    import json

    header = json.dumps(entries).encode()
    verdict = parse_header(header, 10)
    assert verdict.problem


@given(st.integers(0, 200), st.integers(0, 255))
def test_a_flipped_byte_of_a_header_is_never_taken_for_whole(position: int, value: int) -> None:
    content = bytearray(safetensors({"a": ("BF16", [4]), "b": ("F32", [2, 2])}))
    length = int.from_bytes(content[:8], "little")
    header = bytes(content[8 : 8 + length])
    whole = parse_header(header, len(content))
    changed = bytearray(header)
    changed[position % length] = value
    verdict = parse_header(bytes(changed), len(content))
    if not verdict.problem:
        # Names and free text may change; sizes and layout may not.
        assert verdict.data_bytes == whole.data_bytes
        assert len(verdict.dtypes) == len(whole.dtypes)


def test_an_unknown_kind_is_refused_with_the_allowed_ones(store: MemoryStore) -> None:
    with pytest.raises(ValueError, match="orbax_base, orbax_training, safetensors"):
        prove(store, {"kind": "zip", "url": "gs://bucket/m/"})
