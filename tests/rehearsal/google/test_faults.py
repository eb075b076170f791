from __future__ import annotations

import json
import threading
import time

import pytest

from rehearsal.google.faults import Faults
from rehearsal.google.state import State
from rehearsal.plugin import RefusedError
from tests.rehearsal.google.stack import Stack, resource

BUCKET = "gcp:storage/bucket:Bucket"
FAULT = {"type": BUCKET, "operation": "create", "message": "Error 500: try again"}


def stage(stack: Stack, *faults: dict[str, object]) -> None:
    (stack.home / "google").mkdir(exist_ok=True)
    (stack.home / "google" / "faults.json").write_text(json.dumps(faults))


def test_a_fault_is_met_as_often_as_it_says_over_all_commands(stack: Stack) -> None:
    stage(stack, {**FAULT, "times": 2})
    for _ in range(2):
        with pytest.raises(RefusedError, match="Error 500"):
            Stack(stack.home).create(BUCKET)
    Stack(stack.home).create(BUCKET)


def test_a_fault_without_an_end_is_met_always(stack: Stack) -> None:
    stage(stack, {**FAULT, "times": None})
    for _ in range(3):
        with pytest.raises(RefusedError, match="Error 500"):
            stack.create(BUCKET)


@pytest.mark.parametrize(
    "other", [{"operation": "delete"}, {"type": "gcp:compute/network:Network"}, {"name": "other"}]
)
def test_a_fault_meets_only_what_it_names(stack: Stack, other: dict[str, object]) -> None:
    stage(stack, {**FAULT, **other})
    stack.create(BUCKET)


def test_a_delay_holds_an_operation_up(stack: Stack) -> None:
    stage(stack, {"type": BUCKET, "operation": "create", "delay_seconds": 0.2})
    started = time.monotonic()
    stack.create(BUCKET)
    assert time.monotonic() - started >= 0.2


def test_cancel_ends_a_delay_at_once_and_nothing_is_changed(stack: Stack) -> None:
    stage(stack, {"type": BUCKET, "operation": "create", "delay_seconds": 60})
    threading.Timer(0.1, stack.provider.cancel).start()
    started = time.monotonic()
    with pytest.raises(RefusedError, match="cancelled; nothing was changed"):
        stack.create(BUCKET)
    assert time.monotonic() - started < 5
    assert not stack.cloud.buckets


def test_without_a_file_nothing_is_written(stack: Stack) -> None:
    Faults(State(stack.home)).meet(resource(BUCKET), "create")
    assert not (stack.home / "google").exists()
