"""The guide's three commands without a cluster: object store, Hub, and one process after another.

`python -m rehearsal.maxtext_run` runs the real MaxText in a temporary home and prints time and
memory of each stage; the recording and the tests of the real MaxText use the same functions.
"""

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal import hub, maxtext_environment, objectstore, trainers
from rehearsal.cloud.ports import free_ports, home_ports

BUCKET = "rehearsal"
MODEL = "gemma4-31b"
RUN_NAME = "sft"
STEPS = 20
CHECKPOINT_PERIOD = 5
# MaxText without TensorFlow makes no folder on gs://, and refuses a prefix that holds nothing.
PLACEHOLDER = "stage-record.json"
_READY_SECONDS = 20
_ROOT = f"gs://{BUCKET}/{MODEL}"
_FOLDERS = ("max-text-format", f"trained/{RUN_NAME}", f"hf-trained/{RUN_NAME}/{STEPS}")

STAGES: dict[str, tuple[str, ...]] = {
    "hf-to-mt": (
        *("maxtext.checkpoint_conversion.to_maxtext", f"model_name={MODEL}"),
        *(f"base_output_directory={_ROOT}/max-text-format/", "scan_layers=True"),
        *("use_multimodal=False", "skip_jax_distributed_system=true"),
        *("checkpoint_storage_use_zarr3=0", "checkpoint_storage_use_ocdbt=0"),
        *("hardware=cpu", "--lazy_load_tensors=True"),
    ),
    "sft": (
        *("maxtext.trainers.post_train.sft.train_sft", f"run_name={RUN_NAME}"),
        *(f"base_output_directory={_ROOT}/trained/", f"model_name={MODEL}"),
        *(f"load_parameters_path={_ROOT}/max-text-format/0/items/", "dataset_type=hf"),
        *("hf_path=HuggingFaceH4/ultrachat_200k", "per_device_batch_size=1"),
        *(f"steps={STEPS}", "profiler=xplane", "checkpoint_storage_use_zarr3=0"),
        *("checkpoint_storage_use_ocdbt=0", "skip_jax_distributed_system=False"),
        f"checkpoint_period={CHECKPOINT_PERIOD}",
    ),
    "mt-to-hf": (
        *("maxtext.checkpoint_conversion.to_huggingface", f"model_name={MODEL}"),
        f"load_parameters_path={_ROOT}/trained/{RUN_NAME}/checkpoints/{STEPS}/model_params/",
        f"base_output_directory={_ROOT}/hf-trained/{RUN_NAME}/{STEPS}/",
        *("skip_jax_distributed_system=true", "hardware=cpu", "scan_layers=True"),
        *("use_multimodal=False", "weight_dtype=bfloat16", "--override_model_architecture"),
    ),
}


class StageFailed(Exception):  # noqa: N818
    """A stage exited with another code than 0; the message ends with its last lines."""


@dataclass(frozen=True)
class Figures:
    """What one stage took."""

    seconds: float
    processor_seconds: float
    peak_memory_mb: float
    log: Path


def interpreter() -> str:
    """Return the Python of the MaxText environment; raise FileNotFoundError without one."""
    environment = maxtext_environment.environment()
    if environment is None:
        raise FileNotFoundError("no MaxText: python -m rehearsal.maxtext_environment builds it")
    return str(environment / "bin" / "python3")


def compare(home: Path, *arguments: str) -> dict[str, Any]:
    """Return what `rehearsal.compare`, which needs the MaxText environment, finds in a home.

    Raises:
        StageFailed: if it could not compare at all.
        FileNotFoundError: without a MaxText environment.
    """
    pod: dict[str, Any] = {"spec": {"containers": [{}]}}
    injected = trainers.pod_environment(home, trainers.REAL_PROJECT, pod, 0)
    variables = {name: value for name, value in injected.items() if value is not None}
    variables |= {"PYTHONPATH": str(maxtext_environment.CHECKOUT), "HOME": str(home)}
    if "XDG_CACHE_HOME" in os.environ:
        variables["XDG_CACHE_HOME"] = os.environ["XDG_CACHE_HOME"]
    command = [interpreter(), "-m", "rehearsal.compare", *arguments]
    found = subprocess.run(command, env=variables, capture_output=True, text=True)
    if not found.stdout:
        raise StageFailed(found.stderr)
    document: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return document


@contextlib.contextmanager
def services(home: Path) -> Iterator[dict[str, int]]:
    """Run object store, TLS proxy and Hub for a home, with a bucket, until the block ends."""
    ports = home_ports(home)
    commands = objectstore.commands(home, ports) | hub.commands(home, ports)
    checkout = str(maxtext_environment.CHECKOUT)
    environment = os.environ | {"PYTHONPATH": checkout}
    with contextlib.ExitStack() as stack:
        for name, command in commands.items():
            log = stack.enter_context((home / f"{name}.log").open("ab"))
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            stack.callback(_end, process)
        for url in (objectstore.ready_urls(ports) | hub.ready_urls(ports)).values():
            wait_ready(url)
        make_bucket(ports["gcs"])
        _reserve_folders(ports["gcs"])
        yield ports


def run_stage(home: Path, stage: str, project: str = trainers.REAL_PROJECT) -> Figures:
    """Run one stage as a pod on one host of a v6e-4 would; raise StageFailed when it fails."""
    return _run(home, stage, STAGES[stage], project)


def export_base(home: Path, target: str) -> Figures:
    """Export the converted base, untrained, to the `gs://` folder `target`."""
    changed = {
        "load_parameters_path": f"{_ROOT}/max-text-format/0/items/",
        "base_output_directory": target,
    }
    words = (word.partition("=") for word in STAGES["mt-to-hf"])
    arguments = [f"{key}={changed[key]}" if key in changed else key + e + v for key, e, v in words]
    return _run(home, "base-export", arguments, trainers.REAL_PROJECT)


def _run(home: Path, stage: str, arguments: Sequence[str], project: str) -> Figures:
    command = ["python3", "-m", *arguments]
    pod = _pod(command, chips=4 if stage == "sft" else 0)
    variables = {"HOME": str(home), "LANG": "C.UTF-8", "JOB_COMPLETION_INDEX": "0"}
    (port,) = free_ports(["coordinator"]).values()
    for name, value in trainers.pod_environment(home, project, pod, port).items():
        if value is not None:
            variables[name] = value
    log = home / f"{stage}.log"
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with log.open("wb") as output:
        # `env` finds python3 on the pod's own PATH, as a container's runtime does.
        process = subprocess.Popen(
            ["env", *command],
            env=variables,
            cwd=home,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, 9)
            raise
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise StageFailed(f"{stage} exited with {process.returncode}\n{tail}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Figures(
        seconds=time.monotonic() - started,
        processor_seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        peak_memory_mb=usage.ru_maxrss / 1024,
        log=log,
    )


def _pod(command: list[str], chips: int) -> dict[str, Any]:
    limits = {"google.com/tpu": chips} if chips else {}
    return {
        "spec": {
            "nodeSelector": {"cloud.google.com/gke-tpu-topology": "2x2"},
            "containers": [{"command": command, "resources": {"limits": limits}}],
        }
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def wait_ready(url: str) -> None:
    """Return when a service answers; raise URLError when it does not for 20 s."""
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > deadline:
                raise
            # Nothing tells when another process starts to listen.
            time.sleep(0.02)


def make_bucket(port: int) -> None:
    """Make the bucket, unless an earlier run left it."""
    url = f"http://127.0.0.1:{port}/storage/v1/b?project=rehearsal"
    with contextlib.suppress(urllib.error.HTTPError):  # 409: it is there
        _send("POST", url, f'{{"name": "{BUCKET}"}}')


def _reserve_folders(port: int) -> None:
    for folder in _FOLDERS:
        name = f"{MODEL}/{folder}/{PLACEHOLDER}"
        upload = f"upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}"
        _send("POST", f"http://127.0.0.1:{port}/{upload}", "{}")


def _send(method: str, url: str, body: str | None = None) -> bytes:
    headers = {"Content-Type": "application/json"}
    data = None if body is None else body.encode()
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return bytes(answer.read())


def main() -> None:
    """Run the three stages and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, help="keep everything in this folder")
    parser.add_argument("--project", default=trainers.REAL_PROJECT, help="decides the trainer")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        home = options.home or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(services(home))
        for stage in STAGES:
            took = run_stage(home, stage, options.project)
            sys.stdout.write(
                f"{stage}: {took.seconds:.1f} s, {took.processor_seconds:.1f} s of processor, "
                f"{took.peak_memory_mb:.0f} MB\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
