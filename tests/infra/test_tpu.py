from __future__ import annotations

import pytest

from infra.tpu import FAMILIES, slice_names, tpu_slice


@pytest.mark.parametrize(
    ("name", "topology", "hosts", "machine"),
    [
        ("v6e-1", "1x1", 1, "ct6e-standard-1t"),
        ("v6e-4", "2x2", 1, "ct6e-standard-4t"),
        ("v6e-8", "2x4", 2, "ct6e-standard-4t"),
        ("v6e-16", "4x4", 4, "ct6e-standard-4t"),
        ("v6e-32", "4x8", 8, "ct6e-standard-4t"),
        ("v6e-4x8", "4x8", 8, "ct6e-standard-4t"),
        ("v6e-64", "8x8", 16, "ct6e-standard-4t"),
        ("v6e-128", "8x16", 32, "ct6e-standard-4t"),
        ("v6e-256", "16x16", 64, "ct6e-standard-4t"),
        ("v5e-16", "4x4", 4, "ct5lp-hightpu-4t"),
    ],
)
def test_a_slice_has_the_shape_gke_sells(
    name: str, topology: str, hosts: int, machine: str
) -> None:
    tpu = tpu_slice(name)
    assert (tpu.topology, tpu.hosts, tpu.machine_type) == (topology, hosts, machine)
    assert tpu.hosts * tpu.chips_per_host == tpu.chips


def test_every_named_slice_is_found_under_its_own_name() -> None:
    assert [tpu_slice(name).name for name in slice_names()] == slice_names()


def test_node_labels_are_those_gke_sets() -> None:
    assert tpu_slice("v6e-32").node_labels == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
        "cloud.google.com/gke-tpu-topology": "4x8",
    }


@pytest.mark.parametrize("name", ["v6e-12", "v6e-", "v6e", "tpu7x-8", "v6e-2x2x1", "V6E-32"])
def test_an_unknown_slice_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match="known are v6e-1"):
        tpu_slice(name)


def test_no_machine_of_a_family_takes_a_disk_the_family_does_not() -> None:
    assert {name: family.disk_type for name, family in FAMILIES.items()} == {
        "v6e": "hyperdisk-balanced",
        "v5e": "pd-balanced",
    }
