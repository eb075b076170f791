"""The daemon owns every process of its home: however it ends, nothing is left."""

from __future__ import annotations

import os
import signal
import time

import pytest

from rehearsal.cloud import client
from rehearsal.cloud.client import Cloud, CloudError, NodePool
from tests.rehearsal.cloud.processlist import running
from tests.rehearsal.conftest import CLUSTER, LOCATION, PROJECT, kube_client
from tests.rehearsal.kube import Kube, phases

pytestmark = pytest.mark.rehearsal

NODE = NodePool(name="system", zone="us-east5-b", machine_type="e2-standard-8", node_count=1)
PLACE = (PROJECT, LOCATION, CLUSTER)
# A worker in its own session, as a data loader may be, below a worker in the trainer's group.
TRAINER = "setsid sh -c 'sleep 64.5; :' & sh -c 'sleep 64.5; :'"


def start_trainer(cloud: Cloud) -> None:
    """Bring a cluster up on which a pod with workers runs."""
    cloud.create_cluster(*PLACE)
    cloud.set_node_pool(*PLACE, NODE)
    container = {"name": "main", "image": "any", "command": ["sh", "-c", TRAINER]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    with kube_client(cloud) as api:
        kube = Kube(api, "default")
        kube.core.create_namespaced_pod("default", {"metadata": {"name": "t"}, "spec": spec})
        kube.wait_pods(lambda pods: phases(pods) == ["Running"])
    wait_until(lambda: len(running("sleep\x0064.5\0")) == 2)


def wait_until(condition, seconds=20.0) -> None:
    """Poll /proc, which tells nobody of its changes."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.02)


def traces(cloud: Cloud) -> list[str]:
    """Return whatever still runs of a home, and the trainer's workers."""
    return running(str(cloud.home)) + running("sleep\x0064.5\0")


@pytest.mark.parametrize("victim", ["pid", "keeper"])
def test_killing_either_of_its_two_processes_ends_everything(fresh_cloud: Cloud, victim: str):
    start_trainer(fresh_cloud)
    began = time.monotonic()
    os.kill(fresh_cloud.status()[victim], signal.SIGKILL)
    wait_until(lambda: not traces(fresh_cloud))
    print(f"kill -9 of {victim}: nothing left after {time.monotonic() - began:.2f} s")
    assert not fresh_cloud.status()["running"]


def test_down_returns_when_everything_is_gone_and_up_again_starts_afresh(fresh_cloud: Cloud):
    start_trainer(fresh_cloud)
    fresh_cloud.create_bucket("kept")
    began = time.monotonic()
    fresh_cloud.down()
    print(f"down: {time.monotonic() - began:.2f} s")
    assert traces(fresh_cloud) == []
    fresh_cloud.ensure_running()
    assert fresh_cloud.read_cluster(*PLACE) is None
    assert fresh_cloud.bucket_exists("kept")


def test_down_also_ends_a_daemon_that_does_not_answer(
    fresh_cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    fresh_cloud.ensure_running()
    os.kill(fresh_cloud.status()["pid"], signal.SIGSTOP)
    monkeypatch.setattr(client, "_STOP_SECONDS", 0.2)
    monkeypatch.setattr(client, "_ANSWER_SECONDS", 0.2)
    fresh_cloud.down()
    assert traces(fresh_cloud) == []


def test_two_homes_side_by_side_do_not_meet(fresh_cloud: Cloud, cloud: Cloud):
    here = fresh_cloud.create_cluster(*PLACE)
    there = cloud.read_cluster(*PLACE)
    assert there is not None
    assert here.endpoint != there.endpoint
    assert here.uid != there.uid
    fresh_cloud.create_bucket("mine")
    assert not cloud.bucket_exists("mine")
    fresh_cloud.down()
    assert traces(fresh_cloud) == []
    assert cloud.read_cluster(*PLACE) == there


def test_it_ends_by_itself_once_idle_without_a_cluster(fresh_cloud: Cloud):
    cloud = Cloud(fresh_cloud.home, idle_seconds=1)
    cloud.create_bucket("kept")
    wait_until(lambda: not traces(cloud), 5)


def test_its_operations_need_the_homes_token(fresh_cloud: Cloud):
    fresh_cloud.ensure_running()
    assert (fresh_cloud.home / "token").stat().st_mode & 0o777 == 0o600
    (fresh_cloud.home / "token").write_text("another")
    with pytest.raises(CloudError, match="UNAUTHENTICATED"):
        fresh_cloud._post("status", {})
