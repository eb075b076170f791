"""A fake API server, a bucket in memory, and one stage to run on them."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.workloads.provider.fake_api_server import JOBSETS, PODS, FakeApiServer, pod
from tests.workloads.provider.fake_bucket import FakeBucket
from tests.workloads.provider.memory_store import MemoryStore, put_step
from workloads.provider.lifecycle import Means
from workloads.provider.stage_run import StageRun


@dataclass
class Heard:
    """A narrator that remembers what was said."""

    live_interval_seconds: float = 0.0
    lines: list[str] = field(default_factory=list)
    infos: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def live(self, text: str) -> None:
        self.lines.append(text)

    def info(self, text: str) -> None:
        self.infos.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def api() -> Iterator[FakeApiServer]:
    before = set(threading.enumerate())
    server = FakeApiServer()
    yield server
    server.close()
    followers = [t for t in set(threading.enumerate()) - before if t.name.startswith("follow-")]
    for thread in followers:
        thread.join(5)
        assert not thread.is_alive(), f"{thread.name} outlives its stage"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBucket]:
    """The bucket called `bucket`, where Google's client library finds it."""
    found = FakeBucket()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", found.url)
    yield found
    found.close()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def means(store: MemoryStore, heard: Heard) -> Means:
    return Means(owner="stack p/dev, namespace ns", narrator=heard, open_store=lambda *_: store)


@pytest.fixture
def asked(api: FakeApiServer) -> dict[str, Any]:
    """The inputs of a training stage with two hosts."""
    return stage_inputs(api)


def stage_inputs(api: FakeApiServer, **changed: Any) -> dict[str, Any]:
    template = {
        "spec": {
            "completions": 2,
            "parallelism": 2,
            "template": {"spec": {"containers": [{"name": "trainer", "image": "maxtext:1"}]}},
        }
    }
    inputs: dict[str, Any] = {
        "stage": "sft",
        "namespace": "ns",
        "kubeconfig": api.kubeconfig(),
        "manifest": {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": "r-sft", "namespace": "ns"},
            "spec": {"replicatedJobs": [{"name": "slice", "replicas": 1, "template": template}]},
        },
        "settings": {"model_name": "gemma4-31b", "learning_rate": 2e-5, "steps": 20},
        "operational": {"image": "maxtext:1", "checkpoint_period": 5},
        "reads": [{"stage": "hf-to-mt", "url": "gs://bucket/m/0/items/", "digest": "base"}],
        "finished": [{"stage": "hf-to-mt", "url": "gs://bucket/m/0/items/"}],
        "directory": "gs://bucket/m/trained/r/",
        "artifacts": {
            "kind": "orbax_training",
            "url": "gs://bucket/m/trained/r/checkpoints/",
            "steps": 20,
        },
        "url": "gs://bucket/m/trained/r/checkpoints/20/model_params/",
        "start_timeout_minutes": 1,
        "timeout_minutes": 1,
        "chips": 8,
        "usd_per_hour": 21.6,
        "still_billing": ["TPU pool: $21.60/h", "stop: pulumi destroy"],
    }
    return {**inputs, **changed}


def trains_well(api: FakeApiServer, store: MemoryStore, steps: int = 20) -> None:
    """Let every JobSet that is created run to its end and leave its last checkpoint."""

    def run(jobset: dict[str, Any]) -> None:
        for host in range(2):
            api.put(PODS, pod(jobset, host))
        name = pod(jobset, 0)["metadata"]["name"]
        api.write_log(
            name,
            *(
                f"2026-12-01T10:00:{step:02d}.5Z x] completed step: {step}, seconds: 0.250, "
                "TFLOP/s/device: 1.0, Tokens/s/device: 64.0, total_weights: 10, "
                f"loss: {2 - step / 20}"
                for step in range(1, steps + 1)
            ),
        )
        put_step(store, steps)
        for host in range(2):
            api.put(PODS, pod(jobset, host, exit_code=0))
        api.end_log(name)
        api.finish(jobset["metadata"]["name"], "Completed", "AllJobsCompleted")

    api.on_create = run


def start(run: StageRun) -> tuple[threading.Thread, list[Any]]:
    """Run a stage in a thread; its result or exception ends up in the list."""
    result: list[Any] = []

    def body() -> None:
        try:
            result.append(run.run())
        except Exception as error:
            result.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread, result


__all__ = ["JOBSETS", "PODS", "Heard", "stage_inputs", "start", "trains_well"]
