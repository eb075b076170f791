from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.config import Home
from tests.infra.test_config import place
from tests.workloads.test_config import run
from workloads.config import RunConfig
from workloads.jobset import RESTART_LABEL, escaped, jobset_manifest
from workloads.stages import finetune_stages

GOLDEN = Path(__file__).parent / "golden"


def manifests(plan: RunConfig | None = None, **changes: Any) -> dict[str, dict[str, Any]]:
    """Return the manifest of each stage in a place with some keys changed."""
    plan = plan or run()
    home = Home(place=place(**changes), namespace="maxtext-test")
    stages = finetune_stages(plan, home.place)
    return {stage.name: jobset_manifest(stage, run=plan, home=home) for stage in stages}


def job(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the specification of the only replicated job."""
    (replicated,) = manifest["spec"]["replicatedJobs"]
    spec: dict[str, Any] = replicated["template"]["spec"]
    return spec


def pod(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the specification of the pods."""
    spec: dict[str, Any] = job(manifest)["template"]["spec"]
    return spec


def container(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the only container."""
    (only,) = pod(manifest)["containers"]
    found: dict[str, Any] = only
    return found


@pytest.mark.parametrize("stage", ["hf-to-mt", "sft", "mt-to-hf"])
def test_the_manifest_is_the_reviewed_one(stage: str) -> None:
    """Regenerate with `WRITE_GOLDEN=1 pytest tests/workloads/test_jobset.py` and review."""
    text = yaml.dump(manifests()[stage], Dumper=_Plain, sort_keys=False, width=100)
    path = GOLDEN / f"{stage}.yaml"
    if os.environ.get("WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


class _Plain(yaml.SafeDumper):
    """Writes every value in full: an alias would hide what a pod gets."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


@pytest.mark.parametrize(
    ("tpu", "hosts", "chips"), [("v6e-4", 1, 4), ("v6e-8", 2, 4), ("v6e-32", 8, 4), ("v6e-1", 1, 1)]
)
def test_the_training_has_one_pod_on_each_host_with_all_its_chips(
    tpu: str, hosts: int, chips: int
) -> None:
    sft = manifests(run(verify_model_size=False), tpu=tpu)["sft"]
    assert job(sft)["parallelism"] == job(sft)["completions"] == hosts
    assert job(sft)["completionMode"] == "Indexed"
    assert container(sft)["resources"]["limits"] == {"google.com/tpu": chips}
    assert pod(sft)["nodeSelector"] == place(tpu=tpu).tpu.node_labels


def test_each_slice_is_one_replica_with_a_pool_for_itself() -> None:
    manifest = manifests(num_slices=2)["sft"]
    assert manifest["spec"]["replicatedJobs"][0]["replicas"] == 2
    assert "alpha.jobset.sigs.k8s.io/exclusive-topology" in manifest["metadata"]["annotations"]


@pytest.mark.parametrize("stage", ["hf-to-mt", "mt-to-hf"])
@pytest.mark.parametrize("slices", [1, 2])
def test_a_conversion_is_one_pod_whatever_the_slices(stage: str, slices: int) -> None:
    manifest = manifests(num_slices=slices)[stage]
    assert manifest["spec"]["replicatedJobs"][0]["replicas"] == 1
    assert job(manifest)["completions"] == 1


@pytest.mark.parametrize("stage", ["hf-to-mt", "mt-to-hf"])
def test_a_conversion_on_a_reserved_slice_takes_a_host_and_no_chips(stage: str) -> None:
    manifest = manifests()[stage]
    resources = container(manifest)["resources"]
    assert "google.com/tpu" not in str(resources)
    assert set(resources["requests"]) == {"memory", "ephemeral-storage"}
    assert pod(manifest)["nodeSelector"] == place().tpu.node_labels
    assert pod(manifest)["tolerations"][0]["key"] == "google.com/tpu"


@pytest.mark.parametrize("capacity", ["spot", "on-demand", "flex-start"])
def test_unreserved_chips_are_not_held_by_a_conversion(capacity: str) -> None:
    found = manifests(capacity=capacity, reservation=None)
    for stage in ("hf-to-mt", "mt-to-hf"):
        assert pod(found[stage])["nodeSelector"] == {"cloud.google.com/gke-nodepool": "conversion"}
        assert pod(found[stage])["tolerations"][0]["key"] == "maxtext-sft/conversion"
    assert pod(found["sft"])["nodeSelector"]["cloud.google.com/gke-nodepool"] == "tpu-0"


@pytest.mark.parametrize("capacity", ["spot", "on-demand", "flex-start"])
def test_a_pool_that_scales_from_zero_never_waits_for_a_leader(capacity: str) -> None:
    """Exclusive placement creates followers only once the leader runs: the slice never forms."""
    for manifest in manifests(capacity=capacity, reservation=None).values():
        assert "annotations" not in manifest["metadata"]


def test_no_manifest_has_a_time_to_live() -> None:
    for manifest in manifests().values():
        assert "ttlSecondsAfterFinished" not in str(manifest)


def test_every_attempt_has_a_deadline_that_ends_the_whole_set() -> None:
    plan = run(sft_timeout_minutes=90, max_restarts=2)
    manifest = manifests(plan)["sft"]
    assert job(manifest)["activeDeadlineSeconds"] == 90 * 60
    policy = manifest["spec"]["failurePolicy"]
    assert policy["maxRestarts"] == 2
    (rule,) = policy["rules"]
    assert rule["action"] == "FailJobSet"
    assert set(rule["onJobFailureReasons"]) == {"DeadlineExceeded", "PodFailurePolicy"}


def test_a_refused_configuration_is_not_tried_again() -> None:
    (rule,) = job(manifests()["sft"])["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"]["values"] == [2]
    assert rule["onExitCodes"]["containerName"] == container(manifests()["sft"])["name"]


def test_a_failed_pod_keeps_its_last_lines_and_is_never_restarted_in_place() -> None:
    for manifest in manifests().values():
        assert container(manifest)["terminationMessagePolicy"] == "FallbackToLogsOnError"
        assert pod(manifest)["restartPolicy"] == "Never"
        assert job(manifest)["backoffLimit"] == 0


def test_the_token_comes_from_the_secret_and_may_be_missing() -> None:
    for manifest in manifests().values():
        (token,) = [entry for entry in container(manifest)["env"] if entry["name"] == "HF_TOKEN"]
        assert token["valueFrom"]["secretKeyRef"] == {
            "name": "hf-token",
            "key": "token",
            "optional": True,
        }
        assert "hf_access_token" not in str(manifest)


@pytest.mark.parametrize("host_network", [False, True])
def test_the_network_of_the_pods_is_a_setting(host_network: bool) -> None:
    for manifest in manifests(host_network=host_network).values():
        assert pod(manifest).get("hostNetwork", False) is host_network


def test_a_queue_is_only_a_label() -> None:
    manifest = manifests(run(queue="user-queue"))["sft"]
    assert manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "user-queue"


def test_the_image_is_a_setting() -> None:
    assert container(manifests(run(image="r/i:1"))["sft"])["image"] == "r/i:1"


@pytest.mark.parametrize("model", ["gemma4-31b", "qwen3-4b-thinking-2507", "llama3.1-8b-Instruct"])
def test_the_longest_names_still_fit_into_a_pods_name(model: str) -> None:
    plan = run(model_name=model, name="n" * 30, base="b" * 30)
    names = [manifest["metadata"]["name"] for manifest in manifests(plan, num_slices=4).values()]
    assert len(set(names)) == 3
    for name in names:
        assert len(f"{name}-slice-10-10-abcde") <= 63
        assert name == name.lower()


@pytest.mark.parametrize("text", ["$(HOME)", "$$", "$HOME", "`id`", "'\"\\#!&;", "a b", "$"])
def test_text_of_the_users_reaches_the_program_unchanged(text: str) -> None:
    assert _expanded(escaped(text)) == text
    sft = container(manifests(run(hf_path=f"d/{text}x"))["sft"])
    assert f"hf_path=d/{text}x" in [_expanded(argument) for argument in sft["args"]]


@pytest.mark.parametrize(
    ("attempt", "last"),
    [
        ("0", ["profiler=xplane", "data_shuffle_seed=0"]),
        ("1", ["jax_distributed_initialization_timeout=1800", "data_shuffle_seed=1"]),
    ],
)
def test_only_the_first_attempt_profiles_and_each_has_its_own_seed(
    attempt: str, last: list[str]
) -> None:
    sft = container(manifests(run(hf_path="$(touch /nowhere) `id`; x"))["sft"])
    shell = sft["command"][:-2]
    words = [_expanded(word) for word in sft["args"]]
    done = subprocess.run(
        [*shell, sft["command"][-2], "maxtext", "printf", "%s\\n", *words],
        env={"RESTART_ATTEMPT": attempt},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-2:] == last
    assert "hf_path=$(touch /nowhere) `id`; x" in done.stdout.splitlines()


def test_the_attempt_is_read_from_the_label_jobset_sets() -> None:
    env = {entry["name"]: entry for entry in container(manifests()["sft"])["env"]}
    path = env["RESTART_ATTEMPT"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert path == f"metadata.labels['{RESTART_LABEL}']"


def test_conversions_run_without_a_shell() -> None:
    assert container(manifests()["hf-to-mt"])["command"][:2] == ["python3", "-m"]


def _expanded(text: str) -> str:
    """Return text as Kubernetes hands it to the process: `$$` is `$`, unknown names stay."""
    result, index = "", 0
    while index < len(text):
        if text[index] == "$" and text[index + 1 : index + 2] == "$":
            index += 1
        result += text[index]
        index += 1
    return result
