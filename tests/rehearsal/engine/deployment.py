"""One stack of the program in folders of its own, driven through the command line only."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from kubernetes import client

from infra.names import namespace_of
from rehearsal.cli import CHECKOUT, Stack
from rehearsal.cloud.client import Cloud
from rehearsal.environment import prepare
from rehearsal.toolchain import folder as toolchain
from tests.rehearsal.conftest import kube_client, require_toolchain
from tests.rehearsal.engine.command import Command
from tests.rehearsal.engine.outcome import STAGE_TYPE, Object, Outcome, stage_of
from tests.rehearsal.engine.processes import end_plugins_of, processes_of
from tests.rehearsal.kube import Kube

NAME = "rehearsal-guide"
PROJECT = "rehearsal-standin"
BUCKET = "rehearsal-standin-results"
STACK_FILE = CHECKOUT / f"Pulumi.{NAME}.yaml"
PROGRAM = ("Pulumi.yaml", "__main__.py", "infra", "workloads", ".venv")
# A slice of the wanted number of hosts; the guide itself has eight.
TOPOLOGIES = {"v6e-4": "2x2", "v6e-8": "2x4", "v6e-32": "4x8"}


def make_program(folder: Path, *, without: str = "") -> Path:
    """Return a program folder of links to the checkout, so that nothing is written to that."""
    folder.mkdir()
    for name in PROGRAM:
        if name != without:
            (folder / name).symlink_to(CHECKOUT / name)
    return folder


@dataclass
class Deployment:
    """A stack, its home and its program folder; `settings` is what its stack file holds."""

    stack: Stack
    settings: Object

    @classmethod
    def make(cls, folder: Path, name: str = NAME, **run: Any) -> Deployment:
        """Return a new stack of the guide's run on a local cloud of its own."""
        home = folder / "home"
        prepare(home)
        made = cls(Stack(name, home, make_program(folder / "program")), _settings())
        made.configure(run=run)
        made.stack.ensure()
        return made

    @property
    def home(self) -> Path:
        """The folder of the local cloud."""
        return self.stack.home

    @property
    def namespace(self) -> str:
        """The stack's namespace in the cluster."""
        return namespace_of(self.stack.name)

    @property
    def file(self) -> Path:
        """The stack file."""
        return self.stack.program / f"Pulumi.{self.stack.name}.yaml"

    def configure(self, cluster: Object | None = None, run: Object | None = None) -> None:
        """Change keys of the stack file; None takes a key away."""
        kept = yaml.safe_load(self.file.read_text()) if self.file.exists() else self.settings
        for block, changes in (("cluster", cluster or {}), ("run", run or {})):
            merged = {**kept["config"][f"maxtext-sft:{block}"], **changes}
            kept["config"][f"maxtext-sft:{block}"] = {
                key: value for key, value in merged.items() if value is not None
            }
        self.file.write_text(yaml.safe_dump(kept, sort_keys=False))

    def trainer(self, *, seconds_per_step: float = 0.0005, **settings: Any) -> None:
        """Set the pace of the stand-in trainer and what goes wrong in it."""
        document = {"seconds_per_step": seconds_per_step, **settings}
        (self.home / "trainer.json").write_text(json.dumps(document))

    def pulumi(self, *arguments: str, stdin: str = "", path: str = "") -> Outcome:
        """Run a command to its end, with another PATH if one is given."""
        with self.started(*arguments, stdin=stdin, path=path) as command:
            return command.wait()

    def up(self, *arguments: str) -> Outcome:
        """Run `pulumi up` without its preview."""
        return self.pulumi("up", "--yes", "--skip-preview", *arguments)

    def must(self, *arguments: str, stdin: str = "") -> Outcome:
        """Run a command that has to succeed."""
        outcome = self.pulumi(*arguments, stdin=stdin)
        assert outcome.code == 0, outcome.text
        return outcome

    def preview(self) -> tuple[Object, Outcome]:
        """Run `pulumi preview --json`; return its document and the outcome."""
        outcome = self.pulumi("preview", "--json")
        document: Object = json.loads(outcome.text[outcome.text.index("{") :])
        return document, outcome

    @contextlib.contextmanager
    def started(self, *arguments: str, stdin: str = "", path: str = "") -> Iterator[Command]:
        """Run a command while the body of the `with` goes on; it is ended with the body."""
        number = len(list(self.home.glob("command-*.txt")))
        command = Command(self.stack, number, arguments, stdin, path)
        try:
            yield command
        finally:
            command.end()

    def export(self) -> Object:
        """Return the stack's state."""
        state: Object = json.loads(self.stack.capture("stack", "export").stdout)
        return state

    def stage_states(self) -> dict[str, Object]:
        """Return what the state keeps of each stage, by its name."""
        resources = self.export()["deployment"].get("resources", [])
        return {stage_of(item["urn"]): item for item in resources if item["type"] == STAGE_TYPE}

    def cluster(self) -> Kube:
        """Return the stack's namespace as it is in the cluster now."""
        return Kube(kube_client(Cloud(self.home)), self.namespace)

    def jobsets(self) -> dict[str, Object]:
        """Return the JobSets of the stack's namespace by name."""
        return {item["metadata"]["name"]: item for item in _list(self)["items"]}

    def version(self) -> str:
        """Return the point in time from which `jobset_changes` counts."""
        return str(_list(self)["metadata"]["resourceVersion"])

    def jobset_changes(self, since: str) -> list[tuple[str, str]]:
        """Return every JobSet event (type, name) after a version, also of objects now gone."""
        response: Any = _custom(self).list_namespaced_custom_object(
            *_jobsets(self), watch=True, resource_version=since, timeout_seconds=1,
            _preload_content=False,
        )  # fmt: skip
        events = [json.loads(line) for line in response.read().splitlines()]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]

    def added(self, since: str) -> list[str]:
        """Return the names of the JobSets that were created after a version."""
        return sorted(name for kind, name in self.jobset_changes(since) if kind == "ADDED")

    def files_with(self, text: str) -> list[str]:
        """Return the files of the home that hold a text, but for the cluster's own database.

        Among them are the output and the events of every command, all logs and all objects.
        """
        wanted = text.encode()
        return [
            str(path.relative_to(self.home))
            for path in self.home.rglob("*")
            if path.is_file() and "etcd" not in path.parts and wanted in path.read_bytes()
        ]

    def objects(self, prefix: str = "", bucket: str = BUCKET) -> dict[str, storage.Blob]:
        """Return the objects of the bucket by name."""
        blobs = self.storage().list_blobs(bucket, prefix=prefix)
        return {blob.name: blob for blob in blobs}

    def storage(self) -> storage.Client:
        """Return a client of the local object store."""
        port = json.loads((self.home / "ports.json").read_text())["gcs"]
        return storage.Client(
            project="any",
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
            client_options={"api_endpoint": f"http://127.0.0.1:{port}"},
        )

    def record(self, directory: str) -> Object:
        """Return the record of a stage's directory."""
        blob = self.objects(directory)[f"{directory}stage-record.json"]
        record: Object = json.loads(blob.download_as_bytes())
        return record

    def close(self) -> None:
        """End the cloud; no process that knows this home may be left."""
        Cloud(self.home).down()
        # Pulumi's own plugin outlives a command line that was killed; ours must not.
        end_plugins_of(self.home.parent, "pulumi-resource-kubernetes")
        assert processes_of(self.home.parent) == []


@contextlib.contextmanager
def opened(folder: Path, *, tpu: str = "v6e-32", **run: Any) -> Iterator[Deployment]:
    """Make a deployment and end its cloud whatever happens."""
    require_toolchain()
    if not (toolchain.bin_folder() / "pulumi").exists():
        pytest.skip(f"pulumi not in {toolchain.bin_folder()}: run `make setup`")
    deployment = Deployment.make(folder, **run)
    deployment.configure(cluster={"tpu": tpu, "tpu_topology": TOPOLOGIES[tpu]})
    deployment.trainer()
    try:
        yield deployment
    finally:
        deployment.close()


def _settings() -> Object:
    settings: Object = yaml.safe_load(STACK_FILE.read_text())
    return settings


def _custom(deployment: Deployment) -> client.CustomObjectsApi:
    return client.CustomObjectsApi(kube_client(Cloud(deployment.home)))


def _jobsets(deployment: Deployment) -> tuple[str, str, str, str]:
    return ("jobset.x-k8s.io", "v1alpha2", deployment.namespace, "jobsets")


def _list(deployment: Deployment) -> Object:
    listed: Any = _custom(deployment).list_namespaced_custom_object(*_jobsets(deployment))
    found: Object = listed
    return found
