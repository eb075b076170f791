"""What the real JobSet controller and the node agent make of a stage."""

from __future__ import annotations

import time

import pytest

from tests.rehearsal.cloud.processlist import running
from tests.rehearsal.kube import Kube, jobset, phases

pytestmark = pytest.mark.rehearsal


def all_running(count):
    return lambda pods: phases(pods).count("Running") == count


def terminated(pod):
    return pod["status"]["containerStatuses"][0]["state"]["terminated"]


def test_a_slice_that_ends_well_completes(kube: Kube):
    began = time.monotonic()
    kube.create(jobset("good", 'echo "host $JOB_COMPLETION_INDEX"; sleep 1'))
    assert kube.wait_end("good")["type"] == "Completed"
    print(f"8 pods: create to Completed {time.monotonic() - began:.2f} s")
    pods = kube.pods()
    assert sorted(pods) == list(range(8))
    assert {pod["status"]["phase"] for pod in pods.values()} == {"Succeeded"}
    assert len({pod["spec"]["nodeName"] for pod in pods.values()}) == 8
    assert kube.log(pods[3]) == "host 3\n"


def test_a_failed_host_fails_the_set_and_leaves_its_last_lines(kube: Kube):
    script = """
        if [ "$JOB_COMPLETION_INDEX" = 5 ]; then echo first; echo "cannot go on" >&2; exit 3; fi
        sleep 60
    """
    kube.create(jobset("bad", script))
    condition = kube.wait_end("bad")
    assert condition["type"] == "Failed"
    last = terminated(kube.pods()[5])
    assert (last["exitCode"], last["reason"]) == (3, "Error")
    assert last["message"] == "first\ncannot go on\n"


def test_the_restart_budget_is_spent_before_the_set_fails(kube: Kube):
    attempt = "metadata.annotations['jobset.sigs.k8s.io/restart-attempt']"
    environment = [{"name": "ATTEMPT", "valueFrom": {"fieldRef": {"fieldPath": attempt}}}]
    script = 'echo "attempt $ATTEMPT"; [ "$JOB_COMPLETION_INDEX" != 0 ] || exit 1; sleep 60'
    kube.create(jobset("again", script, max_restarts=1, container={"env": environment}))
    assert kube.wait_end("again")["type"] == "Failed"
    assert terminated(kube.pods()[0])["message"] == "attempt 1\n"


def test_a_set_that_is_deleted_in_the_foreground_takes_its_processes_along(kube: Kube):
    kube.create(jobset("stopped", "sleep 61.25 & sleep 61.25"))
    kube.wait_pods(all_running(8))
    assert len(running("sleep\x0061.25\0")) == 16
    began = time.monotonic()
    kube.delete("stopped")
    print(f"8 pods: foreground deletion {time.monotonic() - began:.2f} s")
    assert kube.pods() == {}
    assert running("sleep\x0061.25\0") == []


def test_sixty_four_pods_on_eight_hosts_complete(kube: Kube):
    manifest = jobset("many", "echo done", hosts=64, container={"resources": {}})
    began = time.monotonic()
    kube.create(manifest)
    assert kube.wait_end("many")["type"] == "Completed"
    print(f"64 pods: create to Completed {time.monotonic() - began:.2f} s")
    assert len(kube.pods()) == 64
