"""The record: kept whole, written only by the one who read it last."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.provider.memory_store import MemoryStore
from workloads.provider.record import (
    Attempt,
    Proven,
    Record,
    RecordError,
    RecordFile,
    decode,
    encode,
)

DOCUMENT = {"stage": "sft", "settings": {"steps": 20}, "reads": []}


def attempt(**changed: Any) -> Attempt:
    values = {"state": "started", "document": DOCUMENT, "owner": "me", "number": 1, "started": "t"}
    return Attempt(**{**values, **changed})


PROVEN = Proven(document=DOCUMENT, outputs={"committed_step": 20}, objects=({"name": "a"},))

texts = st.text(max_size=10)
documents = st.fixed_dictionaries(
    {
        "stage": texts,
        "settings": st.dictionaries(texts, st.integers() | texts),
        "reads": st.just([]),
    }
)


@settings(max_examples=40)
@given(documents, texts, st.integers(0, 5), st.booleans())
def test_a_record_survives_its_object(
    document: dict[str, Any], owner: str, number: int, proven: bool
) -> None:
    record = Record(
        stage="sft",
        attempt=attempt(document=document, owner=owner, number=number),
        proven=Proven(document=document, outputs={}, objects=()) if proven else None,
    )
    assert decode(encode(record), "u") == record


def test_a_later_attempt_keeps_what_is_proven() -> None:
    record = Record(stage="sft", proven=PROVEN).with_attempt(attempt()).ended("failed", "uid")
    assert record.proven == PROVEN
    assert record.attempt is not None
    assert (record.attempt.state, record.attempt.jobset_uid) == ("failed", "uid")


def test_two_that_start_at_once_do_not_both_start(store: MemoryStore) -> None:
    first, second = RecordFile(store, "m/"), RecordFile(store, "m/")
    assert first.read() is None
    assert second.read() is None
    first.write(Record(stage="sft", attempt=attempt()))
    with pytest.raises(RecordError, match="another run meanwhile"):
        second.write(Record(stage="sft", attempt=attempt(owner="you")))


def test_whoever_wrote_may_write_again(store: MemoryStore) -> None:
    file = RecordFile(store, "m/")
    file.read()
    file.write(Record(stage="sft", attempt=attempt()))
    file.write(Record(stage="sft", attempt=attempt(state="failed")))
    found = RecordFile(store, "m/").read()
    assert found is not None
    assert found.attempt == attempt(state="failed")


def test_a_record_of_a_later_release_with_more_keys_is_read() -> None:
    raw = json.loads(encode(Record(stage="sft", attempt=attempt(), proven=PROVEN)))
    raw["new"] = raw["attempt"]["new"] = raw["proven"]["new"] = 1
    assert decode(json.dumps(raw).encode(), "u").proven == PROVEN


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": 1}', b"\xff", b"null"])
def test_what_is_no_record_is_named_and_left_alone(content: bytes) -> None:
    with pytest.raises(RecordError, match="gs://b/x"):
        decode(content, "gs://b/x")


def test_a_record_of_another_format_is_not_guessed_at() -> None:
    with pytest.raises(RecordError, match="format 2"):
        decode(b'{"format": 2, "stage": "sft"}', "u")


def test_whoever_read_last_may_write(store: MemoryStore) -> None:
    first, second = RecordFile(store, "m/"), RecordFile(store, "m/")
    first.read()
    first.write(Record(stage="sft", attempt=attempt()))
    second.read()
    second.write(Record(stage="sft", attempt=attempt(owner="you")))
    with pytest.raises(RecordError, match="another run meanwhile"):
        first.write(Record(stage="sft", attempt=attempt()))
