"""An object store, and the stand-in's commands run as the pods of a Job would."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rehearsal import maxtext_run, objectstore, trainers
from rehearsal.cloud.ports import free_ports
from tests.rehearsal.conftest import require_object_store

STORE = "gs://rehearsal/gemma4-31b"
MODULES = {
    "hf-to-mt": "maxtext.checkpoint_conversion.to_maxtext",
    "sft": "maxtext.trainers.post_train.sft.train_sft",
    "mt-to-hf": "maxtext.checkpoint_conversion.to_huggingface",
}


@dataclass
class Outcome:
    """What the processes of one attempt said and how they ended, by host."""

    codes: list[int]
    logs: list[str]

    @property
    def steps(self) -> list[int]:
        """The steps that host 0 completed, in order."""
        lines = self.logs[0].splitlines()
        completed = (line.partition("completed step: ")[2] for line in lines)
        return [int(text.split(",")[0]) for text in completed if text]


@dataclass
class Trainer:
    """The stand-in on one home: settings, the three commands and the objects they leave."""

    home: Path
    port: int
    hosts: int = 1
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def tell(self, **document: Any) -> None:
        """Write what the node tells the stand-in."""
        (self.home / "trainer.json").write_text(json.dumps({"seconds_per_step": 0, **document}))

    def start(self, stage: str, *arguments: str) -> None:
        """Start one process for each host."""
        chips = 4 if self.hosts > 1 else 0
        pod = {
            "spec": {
                "nodeSelector": {"cloud.google.com/gke-tpu-topology": f"{self.hosts}x4"},
                "containers": [{"resources": {"limits": {"google.com/tpu": str(chips)}}}],
            }
        }
        (coordinator,) = free_ports(["coordinator"]).values()
        injected = trainers.pod_environment(self.home, "rehearsal-standin", pod, coordinator)
        variables = {name: value for name, value in injected.items() if value is not None}
        variables["REHEARSAL_TERMINATION_LOG"] = str(self.home / "termination-log")
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-S", "-m", MODULES[stage], *arguments],
                env=variables | {"JOB_COMPLETION_INDEX": str(host)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=self.home,
            )
            for host in range(self.hosts)
        ]

    def wait(self) -> Outcome:
        """Return how every process ended."""
        logs = [process.communicate(timeout=20)[0] for process in self.processes]
        return Outcome([process.returncode for process in self.processes], logs)

    def run(self, stage: str, *arguments: str) -> Outcome:
        """Run one attempt of a stage."""
        self.start(stage, *arguments)
        return self.wait()

    def convert(self, *more: str) -> Outcome:
        """Run stage hf-to-mt with the guide's arguments."""
        target = f"base_output_directory={STORE}/max-text-format/"
        return self.run("hf-to-mt", "model_name=gemma4-31b", target, "scan_layers=True", *more)

    def train(self, *more: str) -> Outcome:
        """Run stage sft from random weights; `load_parameters_path` is an argument of the tests."""
        target = f"base_output_directory={STORE}/trained/"
        return self.run("sft", "run_name=sft", target, "model_name=gemma4-31b", *more)

    def export(self, step: int, *more: str) -> Outcome:
        """Run stage mt-to-hf with the guide's arguments."""
        source = f"load_parameters_path={STORE}/trained/sft/checkpoints/{step}/model_params/"
        target = f"base_output_directory={STORE}/hf-trained/"
        arguments = ("model_name=gemma4-31b", source, target, "weight_dtype=bfloat16")
        return self.run("mt-to-hf", *arguments, "--override_model_architecture", *more)

    def names(self, prefix: str) -> list[str]:
        """Return the objects below a folder of the model, relative to it."""
        start = f"gemma4-31b/{prefix}"
        return sorted(item["name"][len(start) :] for item in self._items(start))

    def content(self, name: str) -> bytes:
        """Return one object of the model."""
        path = urllib.parse.quote(f"gemma4-31b/{name}", safe="")
        with urllib.request.urlopen(f"{self._objects}/{path}?alt=media") as answer:
            return bytes(answer.read())

    def put(self, name: str, data: bytes) -> None:
        """Write one object of the model."""
        query = urllib.parse.urlencode({"uploadType": "media", "name": f"gemma4-31b/{name}"})
        url = f"http://127.0.0.1:{self.port}/upload/storage/v1/b/rehearsal/o?{query}"
        urllib.request.urlopen(urllib.request.Request(url, data)).close()

    def steps(self, *, committed: bool = True) -> list[int]:
        """Return the steps that have a checkpoint (with its marker, unless told otherwise)."""
        ending = "/commit_success.txt" if committed else ""
        parts = [name.split("/") for name in self.names("trained/sft/checkpoints/")]
        wanted = (part for part in parts if not ending or part[1:] == ["commit_success.txt"])
        return sorted({int(part[0]) for part in wanted})

    def times(self, prefix: str) -> dict[str, datetime]:
        """Return when each object below a folder was written."""
        start = f"gemma4-31b/{prefix}"
        return {
            item["name"][len(start) :]: datetime.fromisoformat(item["updated"])
            for item in self._items(start)
        }

    @property
    def _objects(self) -> str:
        return f"http://127.0.0.1:{self.port}/storage/v1/b/rehearsal/o"

    def _items(self, prefix: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self._objects}?prefix={prefix}") as answer:
            found: list[dict[str, Any]] = json.load(answer).get("items") or []
        return found


@pytest.fixture
def trainer(tmp_path: Path) -> Iterator[Trainer]:
    """The stand-in on an object store of its own; no process of either is left at the end."""
    require_object_store()
    ports = free_ports(["cloud", "gcs", "gcs_tls", "hub"])
    (tmp_path / "ports.json").write_text(json.dumps(ports))
    (tmp_path / "termination-log").touch()
    # In memory a write takes 0.3 ms, on disk with its two fsyncs 5 ms.
    command = objectstore.commands(tmp_path, ports)["gcs"]
    process = subprocess.Popen(
        ["memory" if word == "filesystem" else word for word in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    found = Trainer(tmp_path, ports["gcs"])
    try:
        maxtext_run.wait_ready(objectstore.ready_urls(ports)["gcs"])
        maxtext_run.make_bucket(ports["gcs"])
        found.tell()
        yield found
    finally:
        for left in (*found.processes, process):
            left.kill()
            left.wait()


@pytest.fixture
def four_hosts(trainer: Trainer) -> Trainer:
    """The stand-in as the four hosts of a v6e-16."""
    trainer.hosts = 4
    return trainer
