"""A pod learns of its slice what GKE's webhook tells."""

from __future__ import annotations

from rehearsal.cloud import tpu

CONTAINER = {"resources": {"limits": {"google.com/tpu": 4}}}


def pod(topology: str, index: int):
    return {
        "metadata": {
            "name": "run-slice-0-3-abcde",
            "annotations": {"batch.kubernetes.io/job-completion-index": str(index)},
        },
        "spec": {
            "hostname": f"run-slice-0-{index}",
            "subdomain": "run",
            "nodeSelector": {"cloud.google.com/gke-tpu-topology": topology},
        },
    }


def test_every_host_gets_the_same_list_and_its_own_place_in_it():
    lists = [tpu.variables(pod("2x4", i), CONTAINER) for i in range(2)]
    assert {found["TPU_WORKER_HOSTNAMES"] for found in lists} == {
        "run-slice-0-0.run,run-slice-0-1.run"
    }
    assert [found["TPU_WORKER_ID"] for found in lists] == ["0", "1"]


def test_a_single_host_is_its_own_worker():
    assert tpu.variables(pod("2x2", 0), CONTAINER)["TPU_WORKER_HOSTNAMES"] == "localhost"


def test_a_pod_without_chips_gets_nothing():
    assert tpu.variables(pod("4x8", 0), {"resources": {"limits": {"cpu": 1}}}) == {}
