from __future__ import annotations

from typing import Any

import pytest

from infra.config import Capacity, ClusterConfig
from infra.problems import parsed

VALID: dict[str, Any] = {
    "project": "my-project",
    "region": "us-east5",
    "zone": "us-east5-b",
    "name": "gemma",
    "bucket": "my-bucket",
    "tpu": "v6e-32",
    "reservation": "my-reservation",
}


def problems(**changes: Any) -> list[str]:
    """Return the lines of the error for a valid block with some keys changed or removed."""
    block = {key: value for key, value in {**VALID, **changes}.items() if value is not ...}
    return parsed("cluster", ClusterConfig, block)[1]


def place(**changes: Any) -> ClusterConfig:
    """Return a valid place with some keys changed."""
    read, wrong = parsed("cluster", ClusterConfig, {**VALID, **changes})
    assert read is not None, wrong
    return read


def test_the_guides_seven_values_are_enough() -> None:
    assert problems() == []
    assert place().tpu.hosts == 8


def test_one_error_lists_every_bad_key() -> None:
    lines = problems(
        tpu_topology="4x4", name="n" * 25, zone="us-central1-b", zones=["a"], project=...
    )
    keys = [line.split(" ")[0] for line in lines]
    assert sorted(keys) == [
        "cluster.name",
        "cluster.project",
        "cluster.tpu_topology",
        "cluster.zone",
        "cluster.zones",
    ]


def test_a_wrong_topology_is_told_with_both_shapes() -> None:
    (line,) = problems(tpu_topology="4x4")
    assert '"4x4"' in line
    assert "v6e-32 has topology 4x8 with 8 hosts; 4x4 is 16 chips on 4 hosts" in line


@pytest.mark.parametrize("name", ["n" * 21, "n" * 40, "n-", "-n", "N", "n_b", "1n", ""])
def test_a_name_that_no_account_id_could_carry_is_refused(name: str) -> None:
    (line,) = problems(name=name)
    assert line.startswith("cluster.name")


@pytest.mark.parametrize("name", ["n", "abc", "n" * 20])
def test_names_of_1_to_20_characters_are_accepted(name: str) -> None:
    assert problems(name=name) == []


def test_an_unknown_key_is_refused_with_the_nearest_known_one() -> None:
    (line,) = problems(reservations="r")
    assert "Did you mean reservation?" in line


@pytest.mark.parametrize("capacity", ["spot", "on-demand", "flex-start"])
def test_a_reservation_excludes_other_capacity(capacity: str) -> None:
    (line,) = problems(capacity=capacity)
    assert f"excludes cluster.capacity {capacity}" in line
    assert problems(capacity=capacity, reservation=...) == []


def test_reserved_capacity_needs_the_reservations_name() -> None:
    (line,) = problems(reservation=...)
    assert "capacity reservation needs the reservation's name" in line


def test_scaling_from_zero_is_refused_for_several_slices() -> None:
    (line,) = problems(capacity="spot", reservation=..., num_slices=2)
    assert "num_slices 1 only" in line
    assert problems(num_slices=2) == []


@pytest.mark.parametrize(
    "name", ["r", "projects/p-1/reservations/r", "r/reservationBlocks/r-block-0001"]
)
def test_a_reservation_may_be_shared_or_one_block(name: str) -> None:
    assert problems(reservation=name) == []


def test_an_open_control_plane_must_be_written_down() -> None:
    assert place().authorized_cidrs == ()
    (line,) = problems(endpoint="ip")
    assert "at least one range" in line
    (line,) = problems(authorized_cidrs=["10.0.0.0/8"])
    assert "endpoint dns is guarded by IAM" in line
    (line,) = problems(endpoint="ip", authorized_cidrs=["10.0.0.1/8"])
    assert "not an address range" in line


def test_adopting_and_deleting_the_bucket_at_once_is_refused_with_the_way() -> None:
    (line,) = problems(adopt_bucket=True, delete_bucket_on_destroy=True)
    assert "with adopt_bucket first, then set delete_bucket_on_destroy" in line


def test_a_foreign_bucket_is_left_alone_and_needs_the_projects_number() -> None:
    (line,) = problems(existing_bucket=True)
    assert "gcloud projects describe" in line
    (line,) = problems(existing_bucket=True, project_number=1, delete_bucket_on_destroy=True)
    assert "leaves the bucket alone" in line


@pytest.mark.parametrize("value", ["True", "true", True])
def test_spot_written_in_any_way_means_spot_capacity_only(value: object) -> None:
    (line,) = problems(spot=value)
    assert line.startswith("cluster.spot is unknown")
    assert place(capacity="spot", reservation=None).capacity is Capacity.SPOT


@pytest.mark.parametrize("slices", [0, "0", 1.5, -1, "two"])
def test_a_number_of_slices_that_is_none_is_refused(slices: object) -> None:
    (line,) = problems(num_slices=slices)
    assert line.startswith("cluster.num_slices")


@pytest.mark.parametrize(("days", "accepted"), [(0, True), (7, True), (90, True), (3, False)])
def test_soft_delete_is_what_the_bucket_offers(days: int, accepted: bool) -> None:
    assert (problems(soft_delete_days=days) == []) is accepted


def test_a_block_that_is_no_block_is_refused() -> None:
    read, lines = parsed("cluster", ClusterConfig, ["v6e-32"])
    assert read is None
    assert lines == ['cluster = ["v6e-32"]: must be a block of keys']
