from __future__ import annotations

import pytest

from rehearsal.google.machines import memory_gib


@pytest.mark.parametrize(
    ("machine", "gib"),
    [("e2-standard-8", 32), ("n2-highmem-32", 256), ("ct6e-standard-4t", 720), ("e2-medium", 4)],
)
def test_memory_follows_the_machine_type(machine: str, gib: int) -> None:
    """Sources: cloud.google.com/compute/docs/machine-resource and cloud.google.com/tpu/docs/v6e."""
    assert memory_gib(machine) == gib


def test_an_unknown_machine_type_has_no_memory() -> None:
    assert memory_gib("e2-huge") is None
