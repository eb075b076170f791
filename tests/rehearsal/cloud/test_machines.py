"""Hosts offer what GKE leaves of a machine."""

from __future__ import annotations

import pytest

from rehearsal.cloud import machines
from rehearsal.cloud.model import NodePool
from rehearsal.cloud.nodes import manifest


def pool(machine_type: str, **changes):
    return NodePool(name="p", zone="us-east5-b", machine_type=machine_type, node_count=1, **changes)


def test_a_standard_machine_keeps_back_what_gke_documents():
    """GKE's own example: 32 GiB leave about 3.6 GiB to the system, 8 cores leave 90m."""
    found = machines.allocatable(pool("e2-standard-8", memory_gib=32))
    assert found["cpu"] == "7910m"
    memory_gib = int(found["memory"].removesuffix("Ki")) / 1024**2
    assert memory_gib == pytest.approx(32 - 3.56 - 0.1, abs=0.01)


@pytest.mark.parametrize(
    ("machine_type", "cpus"),
    [("e2-standard-8", 8), ("n2-highmem-32", 32), ("ct6e-standard-4t", 180), ("e2-medium", 2)],
)
def test_machine_types_say_how_many_cpus_they_have(machine_type: str, cpus: int):
    assert machines.cpus(machine_type) == cpus


def test_a_tpu_host_is_labelled_tainted_and_counts_its_chips():
    tpu = pool("ct6e-standard-4t", chips_per_host=4, tpu_topology="4x8", memory_gib=720)
    node = manifest(tpu, "host", "rehearsal-standin")
    labels = node["metadata"]["labels"]
    assert labels["cloud.google.com/gke-tpu-accelerator"] == "tpu-v6e-slice"
    assert labels["cloud.google.com/gke-tpu-topology"] == "4x8"
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["google.com/tpu"]
    assert machines.allocatable(tpu)["google.com/tpu"] == "4"


def test_a_pools_own_taints_take_googles_spelling_too():
    taints = [{"key": "k", "value": "v", "effect": "NO_SCHEDULE"}]
    node = manifest(pool("e2-standard-8", taints=taints), "host", "p")
    assert node["spec"]["taints"][0]["effect"] == "NoSchedule"
    assert "google.com/tpu" not in machines.capacity(pool("e2-standard-8"))
