"""What the engine makes of the provider: the real CLI on a fake cluster and a real object store."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.provider.conftest import JOBSETS, PODS, stage_inputs
from tests.workloads.provider.engine_project import ROOT, EngineProject, environment
from tests.workloads.provider.fake_api_server import FakeApiServer, pod, wait_until
from tests.workloads.provider.memory_store import MemoryStore, put_base, put_export, put_step

pytestmark = [pytest.mark.rehearsal, pytest.mark.timeout(120)]

CANARY = "canary-0123456789-secret"
EMBEDDING = {"shape": [262144, 5376], "dtype": "bfloat16"}


class RemoteStore(MemoryStore):
    """Puts objects into the real object store."""

    def __init__(self, client: Any, bucket: str) -> None:
        super().__init__(bucket)
        self.client = client

    def put(self, name: str, content: bytes | str | dict[str, Any] = b"x") -> None:
        content = json.dumps(content) if isinstance(content, dict) else content
        self.client.bucket(self.bucket).blob(name).upload_from_string(content)


class Trainer:
    """Plays the JobSet controller and MaxText: every stage succeeds unless told otherwise."""

    def __init__(self, api: FakeApiServer, store: RemoteStore) -> None:
        self.api, self.store = api, store
        self.steps = 20
        self.fail: set[str] = set()
        self.hold: set[str] = set()
        self.ran: list[str] = []
        api.on_create = self.run

    def run(self, jobset: dict[str, Any]) -> None:
        name = jobset["metadata"]["name"]
        self.ran.append(name)
        threading.Thread(target=self._play, args=(name, jobset), daemon=True).start()

    def _play(self, name: str, jobset: dict[str, Any]) -> None:
        for host in range(2):
            self.api.put(PODS, pod(jobset, host))
        if name in self.hold:
            return
        if name in self.fail:
            failed = pod(jobset, 1, exit_code=1, message="ValueError: MAXTEXT CONFIG ERROR")
            self.api.put(PODS, failed)
            self.api.finish(name, "Failed", "ReachedMaxRestarts")
            return
        self.complete(name)

    def complete(self, name: str) -> None:
        if name == "r-hf-to-mt":
            put_base(self.store)
        elif name == "r-sft":
            put_step(self.store, self.steps)
        else:
            put_export(self.store, f"m/hf-trained/r/{self.steps}/")
        self.api.finish(name, "Completed", "AllJobsCompleted")


@pytest.fixture(scope="module")
def toolchain() -> Path:
    """The folder with the CLI; the tests are skipped without it."""
    from rehearsal.toolchain import folder

    bin_folder = Path(folder.bin_folder())
    found = shutil.which("pulumi", path=f"{bin_folder}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"no pulumi in {bin_folder} or on PATH: run `make setup`")
    return Path(found).parent


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real object store on loopback."""
    from rehearsal.objectstore import commands, data_folder

    home = tmp_path_factory.mktemp("gcs")
    data_folder(home).mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        commands(home, {"gcs": port, "gcs_tls": 0})["gcs"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(f"{url}/_internal/healthcheck"), 20)
        yield url
    finally:
        server.kill()
        server.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except OSError:
        return False


@pytest.fixture
def remote(emulator: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[RemoteStore]:
    """An empty bucket of the object store."""
    from google.cloud import storage

    monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator)
    client = storage.Client(project="test")
    bucket = client.create_bucket("bucket")
    yield RemoteStore(client, "bucket")
    bucket.delete(force=True)


@pytest.fixture
def trainer(api: FakeApiServer, remote: RemoteStore) -> Trainer:
    api.created_at = api.finished_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Trainer(api, remote)


@pytest.fixture
def project(trainer: Trainer, toolchain: Path, emulator: str, tmp_path: Path) -> EngineProject:
    """Three stages in a stack of its own."""
    api = trainer.api
    folder = "gs://bucket/m/"
    base = _stage(
        api,
        "hf-to-mt",
        settings={"hub_id": "google/gemma-4-31b-it"},
        directory=f"{folder}max-text-format/",
        url=f"{folder}max-text-format/0/items/",
        artifacts={
            "kind": "orbax_base",
            "url": f"{folder}max-text-format/0/items/",
            "scan_layers": True,
            "embedding": EMBEDDING,
        },
    )
    export = _stage(
        api,
        "mt-to-hf",
        settings={"dtype": "bfloat16"},
        directory=f"{folder}hf-trained/r/20/",
        url=f"{folder}hf-trained/r/20/",
        artifacts={
            "kind": "safetensors",
            "url": f"{folder}hf-trained/r/20/",
            "tensor_count": 6,
            "dtype": "bfloat16",
        },
    )
    made = EngineProject(tmp_path / "p", environment(tmp_path / "p", toolchain, emulator))
    made.prepare([base, _stage(api, "sft"), export], api.kubeconfig({"token": CANARY}))
    return made


def _stage(api: FakeApiServer, name: str, **changed: Any) -> dict[str, Any]:
    inputs = stage_inputs(api, stage=name, **changed)
    inputs["manifest"]["metadata"]["name"] = f"r-{name}"
    given_by_program = ("kubeconfig", "reads", "finished", "operational")
    return {key: value for key, value in inputs.items() if key not in given_by_program}


def operations(project: EngineProject) -> dict[str, str]:
    stages = ("hf-to-mt", "sft", "mt-to-hf")
    return {name: step["op"] for name, step in project.preview().items() if name in stages}


def providers(project: EngineProject) -> list[int]:
    """The provider processes that this project's commands have started."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            surroundings = (entry / "environ").read_bytes()
        except OSError:
            continue
        if b"workloads.provider" in command and str(project.folder).encode() in surroundings:
            found.append(int(entry.name))
    return found


def finish_attached(project: EngineProject, trainer: Trainer) -> None:
    """Run `up`, and let the held JobSet complete once the provider has attached to it."""
    before = trainer.api.requests[f"GET {JOBSETS}?watch"]
    process = project.start_up()
    attached = lambda: trainer.api.requests[f"GET {JOBSETS}?watch"] > before  # noqa: E731
    wait_until(lambda: attached() or process.poll() is not None, 60)
    trainer.complete("r-sft")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output


def test_a_run_is_previewed_made_once_repeated_for_nothing_and_taken_away(
    project: EngineProject, trainer: Trainer, remote: RemoteStore
) -> None:
    """A43, A4, A45 and issue A9 in one story: the commands a user gives in order."""
    preview = project.run("preview", "--non-interactive")
    assert "+ 5 to create" in preview.stdout
    assert not trainer.api.requests
    assert not list(remote.client.list_blobs("bucket"))

    shown = project.up()
    assert trainer.ran == ["r-hf-to-mt", "r-sft", "r-mt-to-hf"]
    outputs = project.run("stack", "output", "--json").stdout
    state = project.state()
    assert [state[name]["outputs"]["state"] for name in ("hf-to-mt", "sft", "mt-to-hf")] == [
        "proven"
    ] * 3

    # TTL or hand: the JobSets are gone. Other image, other time limit: operational only.
    for name in list(trainer.api.objects[JOBSETS]):
        trainer.api.remove(JOBSETS, name)
    project.set("image", "maxtext:2")
    assert operations(project) == {}  # unchanged steps are not listed by name
    project.up()
    project.run("refresh", "--yes", "--non-interactive", "--skip-preview")
    project.up("--refresh")
    assert len(trainer.ran) == 3

    # A fresh laptop: empty state, same bucket.
    project.run("stack", "export", "--file", "old.json")
    shutil.rmtree(project.folder / "state")
    (project.folder / "state").mkdir()
    project.run("stack", "init", project.stack, check=False)
    project.up()
    assert len(trainer.ran) == 3
    assert project.run("stack", "output", "--json").stdout == outputs

    before = sorted(blob.name for blob in remote.client.list_blobs("bucket"))
    gone = project.run("destroy", "--yes", "--non-interactive", "--skip-preview")
    assert "5 deleted" in gone.stdout
    assert sorted(blob.name for blob in remote.client.list_blobs("bucket")) == before
    everything = shown + gone.stdout + project.run("stack", "export").stdout + json.dumps(state)
    assert CANARY not in everything
    wait_until(lambda: not providers(project))


def test_more_steps_are_previewed_with_their_value_their_meaning_and_their_dependants(
    project: EngineProject, trainer: Trainer
) -> None:
    project.up()
    project.set("sft", {"steps": 30})
    trainer.steps = 30
    done = project.run("preview", "--json", "--non-interactive")
    steps = {
        step["urn"].split("::")[-1]: step
        for step in json.loads(done.stdout)["steps"]
        if step["op"] != "same"
    }
    assert {name: step["op"] for name, step in steps.items()} == {
        "sft": "update",
        "mt-to-hf": "update",
    }
    assert steps["sft"]["detailedDiff"]["settings.steps"]["kind"] == "update"
    text = project.run("preview", "--non-interactive", "--diff")
    assert "steps: 20 => 30" in text.stdout
    text = project.run("preview", "--non-interactive")
    assert "the learning rate jumps up again" in text.stdout + text.stderr

    project.set("sft", {"steps": 10})
    refused = project.run("preview", "--non-interactive", check=False)
    assert refused.returncode != 0
    assert "already holds step 20" in refused.stdout + refused.stderr

    project.set("sft", {"learning_rate": 1e-5})
    refused = project.run("preview", "--non-interactive", check=False)
    assert refused.returncode != 0
    assert "learning_rate: 2e-05 -> 1e-05" in refused.stdout + refused.stderr
    assert trainer.ran == ["r-hf-to-mt", "r-sft", "r-mt-to-hf"]


@pytest.mark.parametrize("refresh", [False, True], ids=["plain", "after a refresh"])
def test_a_failed_stage_and_what_follows_run_on_the_next_up(
    project: EngineProject, trainer: Trainer, refresh: bool
) -> None:
    """A1, A3, A46."""
    trainer.fail = {"r-sft"}
    text = project.up("--continue-on-error", check=False)
    assert "MaxText refused an argument" in text
    assert "finished and kept:" in text
    assert trainer.ran == ["r-hf-to-mt", "r-sft"]
    if refresh:
        project.run("refresh", "--yes", "--non-interactive", "--skip-preview", check=False)
    trainer.fail = set()
    project.up()
    assert trainer.ran == ["r-hf-to-mt", "r-sft", "r-sft", "r-mt-to-hf"]


@pytest.mark.parametrize("refresh", [False, True], ids=["plain", "after a refresh"])
def test_a_failed_update_keeps_the_old_proof_and_is_owed(
    project: EngineProject, trainer: Trainer, refresh: bool
) -> None:
    project.up()
    old = project.state()["sft"]["outputs"]["proven_digest"]
    project.set("sft", {"steps": 30})
    trainer.steps, trainer.fail = 30, {"r-sft"}
    project.up(check=False)
    assert project.state()["sft"]["outputs"]["proven_digest"] == old
    if refresh:
        project.run("refresh", "--yes", "--non-interactive", "--skip-preview", check=False)
    assert operations(project) == {"sft": "update", "mt-to-hf": "update"}
    trainer.fail = set()
    project.up()
    assert project.state()["sft"]["outputs"]["committed_step"] == 30


def test_one_interrupt_ends_up_within_two_seconds_and_the_next_up_attaches(
    project: EngineProject, trainer: Trainer
) -> None:
    """A8."""
    trainer.hold = {"r-sft"}
    process = project.start_up()
    wait_until(lambda: "r-sft" in trainer.ran, 60)
    wait_until(lambda: trainer.api.requests[f"GET {JOBSETS}?watch"] >= 2, 20)
    began = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert time.monotonic() - began < 2, output
    assert process.returncode != 0
    assert "the next `pulumi up` attaches" in output
    assert project.state()["sft"]["outputs"]["state"] == "interrupted"

    finish_attached(project, trainer)
    assert trainer.ran.count("r-sft") == 1


def test_a_killed_cli_leaves_no_provider_and_the_next_up_attaches(
    project: EngineProject, trainer: Trainer
) -> None:
    """A5."""
    trainer.hold = {"r-sft"}
    process = project.start_up()
    wait_until(lambda: "r-sft" in trainer.ran, 60)
    wait_until(lambda: bool(providers(project)))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    wait_until(lambda: not providers(project), 2)
    locked = project.up(check=False)
    assert "currently locked" in locked
    project.run("cancel", "--yes")
    finish_attached(project, trainer)
    assert trainer.ran.count("r-sft") == 1


def test_the_provider_stays_small(project: EngineProject, trainer: Trainer) -> None:
    trainer.hold = {"r-sft"}
    process = project.start_up()
    wait_until(lambda: trainer.api.requests[f"GET {JOBSETS}?watch"] >= 2, 60)
    [provider] = providers(project)
    peak = (Path("/proc") / str(provider) / "status").read_text().split("VmHWM:")[1].split()[0]
    trainer.complete("r-sft")
    process.communicate(timeout=60)
    assert int(peak) / 1024 <= 120


def test_preflight_names_what_to_install_in_up_and_nothing_in_preview(
    project: EngineProject, trainer: Trainer
) -> None:
    project.set("commands", ["no-such-command", "sh"])
    project.run("preview", "--non-interactive")
    text = project.up(check=False)
    assert "no-such-command is not on PATH" in text
    assert not trainer.ran


def test_the_plugin_starts_from_a_bare_shell_and_names_missing_packages(tmp_path: Path) -> None:
    executable = ROOT / "workloads" / "provider" / "pulumi-resource-maxtext"
    bare = tmp_path / "bin"
    bare.mkdir()
    interpreter = bare / "python3"
    # An interpreter without any packages: isolated from the environment's own.
    interpreter.write_text(f'#!/bin/sh\nexec {shutil.which("python3")} -S "$@"\n')
    interpreter.chmod(0o755)
    checkout = tmp_path / "checkout" / "workloads" / "provider"
    shutil.copytree(executable.parent, checkout)
    done = subprocess.run(
        [str(checkout / executable.name), "127.0.0.1:1"],
        env={"PATH": f"{bare}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 1
    assert "python3 -m pip install -r" in done.stderr
    assert f"{tmp_path}/checkout/requirements.txt" in done.stderr
