from __future__ import annotations

import json

import pytest

from rehearsal.google.reservation import reservation_name
from rehearsal.plugin import RefusedError
from tests.rehearsal.google.stack import VALID, Stack, resource, valid

POOL = "gcp:container/nodePool:NodePool"
NODE = VALID[POOL]["nodeConfig"]


@pytest.fixture(autouse=True)
def _prepared(stack: Stack) -> None:
    stack.create_until(POOL)


def test_a_reservation_without_room_fails_the_pool_and_leaves_nothing(stack: Stack) -> None:
    stack.create(POOL)
    with pytest.raises(RefusedError, match=r"reservation 'rehearsal-v6e' does not have available"):
        stack.create(POOL, name="tpu-1")
    assert list(stack.cloud.pools) == ["tpu-0"]
    assert len(list(stack.file("container.NodePool").glob("*.json"))) == 1


def test_hosts_come_back_to_the_reservation_with_their_pool(stack: Stack) -> None:
    object_id, outputs = stack.create(POOL)
    stack.provider.delete(resource(POOL, object_id), outputs, 0)
    stack.create(POOL, name="tpu-1")


def test_hosts_of_the_pool_itself_count_as_free_in_an_update(stack: Stack) -> None:
    object_id, outputs = stack.create(POOL)
    changed = valid(POOL, nodeConfig={**NODE, "labels": {"a": "b"}})
    stack.provider.update(resource(POOL, object_id), outputs, valid(POOL), changed, False)
    assert stack.cloud.pools["tpu-0"].labels["a"] == "b"


@pytest.mark.parametrize(
    ("reservation", "message"),
    [
        ({"machine_type": "ct6e-standard-8t", "hosts": 8, "zone": "us-east5-b"}, "does not have"),
        ({"machine_type": "ct6e-standard-4t", "hosts": 7, "zone": "us-east5-b"}, "does not have"),
        ({"machine_type": "ct6e-standard-4t", "hosts": 8, "zone": "us-east5-a"}, "does not exist"),
    ],
)
def test_a_reservation_that_does_not_fit_is_refused(
    stack: Stack, reservation: dict[str, object], message: str
) -> None:
    file = stack.file("reservations.json")
    file.write_text(json.dumps({"rehearsal-v6e": reservation}))
    with pytest.raises(RefusedError, match=message):
        stack.create(POOL)


@pytest.mark.parametrize("value", [
    "demo", "projects/p/reservations/demo", "projects/p/reservations/demo/reservationBlocks/b",
])  # fmt: skip
def test_a_reservation_is_named_plainly_or_by_id(value: str) -> None:
    affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "values": [value]}
    name = reservation_name({"reservationAffinity": affinity})
    assert name is not None
    assert name.partition("/")[0] == "demo"
    assert reservation_name({"reservationAffinity": {"consumeReservationType": "ANY"}}) is None
