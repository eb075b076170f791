"""The guide's three commands as data, compared with ours: every difference has a reason here.

Source: Google's guide "SFT for Gemma 4 31B on a multi-host TPU v6e" with Cluster Toolkit v1.103.0.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from infra.config import Home
from tests.conftest import ROOT, stack_config
from workloads.jobset import jobset_manifest
from workloads.settings import read_settings
from workloads.stages import finetune_stages

BUCKET = "gs://YOUR_BUCKET_NAME/gemma4-31b"
LIBTPU = (
    "--xla_tpu_scoped_vmem_limit_kib=61440 --xla_tpu_bf16_emission_mode=NATIVE_EMISSION"
    " --xla_tpu_enable_sparse_core_collective_offload_all_reduce=true"
    " --xla_tpu_use_single_sparse_core_for_all_gather_offload=true"
)

GUIDE: dict[str, dict[str, str]] = {
    "hf-to-mt": {
        "jobset": "hf-to-mt",
        "module": "maxtext.checkpoint_conversion.to_maxtext",
        "pods": "8",
        "shell": '[ "$JOB_COMPLETION_INDEX" != "0" ] || ...',
        "restarts": "1",
        "ttl": "1h",
        "network": "host",
        "model_name": "gemma4-31b",
        "hf_access_token": "YOUR_HF_TOKEN",
        "base_output_directory": f"{BUCKET}/max-text-format/",
        "scan_layers": "True",
        "use_multimodal": "False",
        "skip_jax_distributed_system": "true",
        "checkpoint_storage_use_zarr3": "0",
        "checkpoint_storage_use_ocdbt": "0",
        "hardware": "cpu",
        "--lazy_load_tensors": "True",
    },
    "sft": {
        "jobset": "sft",
        "module": "maxtext.trainers.post_train.sft.train_sft",
        "pods": "8",
        "restarts": "1",
        "ttl": "1h",
        "network": "host",
        "$JAX_PLATFORMS": "tpu,cpu",
        "$ENABLE_PJRT_COMPATIBILITY": "true",
        "$JAX_TRACEBACK_FILTERING": "off",
        "$LIBTPU_INIT_ARGS": LIBTPU,
        "run_name": "sft",
        "base_output_directory": f"{BUCKET}/trained/",
        "model_name": "gemma4-31b",
        "load_parameters_path": f"{BUCKET}/max-text-format/0/items/",
        "hf_access_token": "YOUR_HF_TOKEN",
        "dataset_type": "hf",
        "hf_path": "HuggingFaceH4/ultrachat_200k",
        "per_device_batch_size": "1",
        "steps": "1000",
        "profiler": "xplane",
        "checkpoint_storage_use_zarr3": "0",
        "checkpoint_storage_use_ocdbt": "0",
        "skip_jax_distributed_system": "False",
    },
    "mt-to-hf": {
        "jobset": "mt-to-hf",
        "module": "maxtext.checkpoint_conversion.to_huggingface",
        "pods": "8",
        "shell": '[ "$JOB_COMPLETION_INDEX" != "0" ] || ...',
        "restarts": "1",
        "ttl": "1h",
        "network": "host",
        "model_name": "gemma4-31b",
        "hf_access_token": "YOUR_HF_TOKEN",
        "load_parameters_path": f"{BUCKET}/trained/sft/checkpoints/1000/model_params/",
        "base_output_directory": f"{BUCKET}/hf-trained/",
        "skip_jax_distributed_system": "true",
        "hardware": "cpu",
        "scan_layers": "True",
        "use_multimodal": "False",
        "weight_dtype": "bfloat16",
        "--override_model_architecture": "",
    },
}

EVERY = ("hf-to-mt", "sft", "mt-to-hf")
CONVERSIONS = ("hf-to-mt", "mt-to-hf")

# (stages, key, the guide's value, ours, reason); `None` is "not there".
DIFFERENCES: list[tuple[tuple[str, ...], str, str | None, str | None, str]] = [
    (
        EVERY,
        "hf_access_token",
        "YOUR_HF_TOKEN",
        None,
        "an argument is readable in the JobSet, the pods and the logs: MaxText takes HF_TOKEN",
    ),
    (
        EVERY,
        "$HF_TOKEN",
        None,
        "Secret hf-token",
        "where the token comes from instead",
    ),
    (
        EVERY,
        "$RESTART_ATTEMPT",
        None,
        "label",
        "the container has to know its attempt, for the profiler and the seed",
    ),
    (
        EVERY,
        "$HF_HOME",
        None,
        "/scratch/huggingface",
        "62 GB of weights need a volume with a limit, not the container's own layer",
    ),
    (EVERY, "restarts", "1", "3", "a second lost host must not end the run"),
    (EVERY, "ttl", "1h", None, "a result that disappears cannot be looked at"),
    (
        EVERY,
        "network",
        "host",
        "pod",
        "on the host's network a pod acts as its node; cluster.host_network is the guide's way",
    ),
    (("hf-to-mt",), "jobset", "hf-to-mt", "hf-to-mt-gemma4-31b", "two bases can be told apart"),
    (("sft",), "jobset", "sft", "sft-sft", "two runs can be told apart"),
    (("mt-to-hf",), "jobset", "mt-to-hf", "mt-to-hf-sft", "two runs can be told apart"),
    (CONVERSIONS, "pods", "8", "1", "seven of the guide's pods end at once and hold their chips"),
    (
        CONVERSIONS,
        "shell",
        '[ "$JOB_COMPLETION_INDEX" != "0" ] || ...',
        None,
        "with one pod there is nothing to choose, and with two slices the test picks two",
    ),
    (
        ("sft",),
        "shell",
        None,
        'if [ "$RESTART_ATTEMPT" = 0 ]; then set -- "$@" profiler=xplane; fi;'
        ' set -- "$@" "data_shuffle_seed=$RESTART_ATTEMPT"; exec "$@"',
        "a resumed run with the profiler fails, and would see the first data again",
    ),
    (("sft",), "profiler", "xplane", None, "only the first attempt gets it, see the shell"),
    (
        ("sft",),
        "checkpoint_period",
        None,
        "250",
        "MaxText's 10,000 is longer than the run: a lost host would cost all of it",
    ),
    (
        ("sft",),
        "jax_cache_dir",
        None,
        f"{BUCKET}/jax-cache/",
        "a restart need not compile again",
    ),
    (
        ("sft",),
        "jax_distributed_initialization_timeout",
        None,
        "1800",
        "hosts that pull the image late must still be waited for",
    ),
    (
        ("mt-to-hf",),
        "base_output_directory",
        f"{BUCKET}/hf-trained/",
        f"{BUCKET}/hf-trained/sft/1000/",
        "a second run would overwrite the first one's export",
    ),
]


@pytest.fixture(scope="module")
def ours() -> dict[str, dict[str, str]]:
    """Our three commands for the example's stack file, in the same form."""
    config = stack_config(ROOT / "examples" / "guide.yaml", cluster=FILLED_IN)
    place, plan = read_settings(config["maxtext-sft:cluster"], config["maxtext-sft:run"])
    home = Home(place=place, namespace="guide")
    stages = finetune_stages(plan, place)
    return {stage.name: _command(jobset_manifest(stage, run=plan, home=home)) for stage in stages}


FILLED_IN = {
    "project": "your-project-id",
    "region": "us-east5",
    "zone": "us-east5-b",
    "name": "your-cluster",
    "bucket": "your-bucket-name",
    "reservation": "your-reservation",
}


@pytest.mark.parametrize("stage", EVERY)
def test_our_command_is_the_guides_but_for_the_listed_differences(
    stage: str, ours: dict[str, dict[str, str]]
) -> None:
    keys = sorted(GUIDE[stage].keys() | ours[stage].keys())
    found = {
        (key, _filled(GUIDE[stage].get(key)), ours[stage].get(key))
        for key in keys
        if _filled(GUIDE[stage].get(key)) != ours[stage].get(key)
    }
    listed = {
        (key, _filled(theirs), _filled(mine))
        for stages, key, theirs, mine, _ in DIFFERENCES
        if stage in stages
    }
    assert found == listed


def test_every_difference_has_its_own_reason() -> None:
    assert all(len(reason) > 20 for *_, reason in DIFFERENCES)


def test_the_example_asks_for_the_guides_seven_values_and_no_other() -> None:
    """Six in the file, the token by a command."""
    text = (ROOT / "examples" / "guide.yaml").read_text()
    assert len(re.findall(r"\bYOUR_\w+$", text, flags=re.MULTILINE)) == 6
    assert "pulumi config set --secret hf_token" in text


def _filled(value: str | None) -> str | None:
    return None if value is None else value.replace("YOUR_BUCKET_NAME", FILLED_IN["bucket"])


def _command(manifest: dict[str, Any]) -> dict[str, str]:
    spec = manifest["spec"]
    job = spec["replicatedJobs"][0]["template"]["spec"]
    pod = job["template"]["spec"]
    container = pod["containers"][0]
    command: list[str] = container["command"]
    words = [*command, *container["args"]]
    module = words.index("-m") + 1
    found = {
        "jobset": manifest["metadata"]["name"],
        "module": words[module],
        "pods": str(job["completions"]),
        "restarts": str(spec["failurePolicy"]["maxRestarts"]),
        "network": "host" if pod.get("hostNetwork") else "pod",
    }
    if "ttlSecondsAfterFinished" in spec:
        found["ttl"] = spec["ttlSecondsAfterFinished"]
    if command[0] == "/bin/sh":
        found["shell"] = command[2]
    for word in words[module + 1 :]:
        key, _, value = word.partition("=")
        assert key not in found, f"{key} is given twice"
        found[key] = value
    for entry in container["env"]:
        found[f"${entry['name']}"] = entry.get("value") or _source(entry["valueFrom"])
    return found


def _source(value_from: dict[str, Any]) -> str:
    if "secretKeyRef" in value_from:
        return f"Secret {value_from['secretKeyRef']['name']}"
    return "label"
