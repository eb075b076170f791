"""One stage from its first submission to its removal, against a fake cluster and bucket."""

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.workloads.provider.conftest import (
    JOBSETS,
    PODS,
    Heard,
    stage_inputs,
    start,
    trains_well,
)
from tests.workloads.provider.fake_api_server import NOW, FakeApiServer, pod, wait_until
from tests.workloads.provider.memory_store import MemoryStore, put_step
from workloads.provider import digest as digests
from workloads.provider import lifecycle, watch
from workloads.provider.admission import RefusedError
from workloads.provider.connection import ClusterError
from workloads.provider.jobsets import DIGEST_ANNOTATION, RECORD_ANNOTATION
from workloads.provider.lifecycle import Means, UnfinishedError
from workloads.provider.stage_run import StageRun
from workloads.provider.watch import Inbox

RECORD = "m/trained/r/stage-record.json"


@pytest.fixture(autouse=True)
def now(means: Means) -> None:
    """The fake cluster's clock stands still; so does ours."""
    means.now = lambda: datetime.fromisoformat(NOW)


def digest_of(inputs: dict[str, Any]) -> str:
    return digests.digest(digests.document(inputs["stage"], inputs["settings"], inputs["reads"]))


def record(store: MemoryStore) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(store.objects[RECORD][0])
    return found


def running(api: FakeApiServer, inputs: dict[str, Any], digest: str | None) -> dict[str, Any]:
    """Put a JobSet with the stage's name into the cluster, as submitted with this digest."""
    annotations = {} if digest is None else {DIGEST_ANNOTATION: digest, RECORD_ANNOTATION: "r"}
    metadata = {
        "name": "r-sft",
        "uid": "uid-before",
        "creationTimestamp": NOW,
        "annotations": annotations,
    }
    return api.put(JOBSETS, {**inputs["manifest"], "metadata": metadata})


def started(store: MemoryStore, inputs: dict[str, Any], **changed: Any) -> None:
    """Put the record of an attempt that began and whose end nobody noted."""
    attempt = {
        "state": "started",
        "document": digests.document(inputs["stage"], inputs["settings"], inputs["reads"]),
        "owner": "stack p/dev, namespace ns",
        "number": 1,
        "started": NOW,
        **changed,
    }
    store.put(RECORD, {"format": 1, "stage": "sft", "attempt": attempt, "proven": None})


def fails(api: FakeApiServer, message: str = "ValueError: bad", code: int = 1) -> None:
    """Let host 1 of every JobSet fail, and host 0 be stopped for it."""

    def run(jobset: dict[str, Any]) -> None:
        api.put(PODS, pod(jobset, 0))
        api.put(PODS, pod(jobset, 1))
        failed = pod(jobset, 1, exit_code=code, message=message)
        api.put(PODS, failed)
        api.put(PODS, pod(jobset, 0, exit_code=143, message="killed", ended="2026-12-01T10:00:59Z"))
        api.remove(PODS, pod(jobset, 0)["metadata"]["name"])
        api.finish(jobset["metadata"]["name"], "Failed", "ReachedMaxRestarts", "first job failed")

    api.on_create = run


def test_a_stage_is_submitted_once_proven_and_recorded(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any], heard: Heard
) -> None:
    trains_well(api, store)
    kept = StageRun(means, asked).run()
    assert kept["state"] == "proven"
    assert kept["proven_digest"] == digest_of(asked)
    assert kept["committed_step"] == 20
    assert kept["figures"]["last_loss"] == 1.0
    assert kept["figures"]["seconds_per_step"] == 0.25
    assert kept["started"] == NOW
    assert kept["object_count"] == 10
    [posted] = api.posted
    assert posted["metadata"]["annotations"][DIGEST_ANNOTATION] == digest_of(asked)
    assert record(store)["proven"]["document"]["settings"]["steps"] == 20
    assert record(store)["attempt"]["state"] == "proven"
    # A terminal shows half of the line: pods first while they start, then how far it is.
    assert "pods running" in heard.lines[0]
    assert any(line.startswith("step ") and "$" in line for line in heard.lines)


def test_a_proven_stage_is_restored_without_the_cluster(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    """A fresh laptop with an empty state, JobSets removed by hand or by their TTL (A4)."""
    trains_well(api, store)
    first = StageRun(means, asked).run()
    api.close()
    assert StageRun(means, asked).run() == first


def test_a_proven_stage_whose_result_was_deleted_is_warned_of_and_never_trained_again(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any], heard: Heard
) -> None:
    trains_well(api, store)
    first = StageRun(means, asked).run()
    for name in list(store.objects):
        if name.startswith("m/trained/r/checkpoints/"):
            del store.objects[name]
    assert StageRun(means, asked).run() == first
    assert lifecycle.read(means, first) == first
    assert len(api.posted) == 1
    assert sum("result has changed" in warning for warning in heard.warnings) == 2


def test_an_operational_change_restores_too(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    trains_well(api, store)
    StageRun(means, asked).run()
    again = {**asked, "operational": {"image": "maxtext:2"}, "timeout_minutes": 2}
    assert StageRun(means, again).run()["image"] == "maxtext:1"
    assert len(api.posted) == 1


def test_other_settings_in_the_same_directory_are_refused_before_anything_runs(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    trains_well(api, store)
    StageRun(means, asked).run()
    other = {**asked, "settings": {**asked["settings"], "learning_rate": 1e-5}}
    with pytest.raises(RefusedError, match=r"learning_rate: 2e-05 -> 1e-05.*new `run.name`"):
        StageRun(means, other).run()
    assert len(api.posted) == 1


def test_a_directory_that_was_only_started_is_refused_to_others_settings(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    started(store, {**asked, "settings": {"steps": 20}}, state="failed")
    with pytest.raises(RefusedError, match="model_name"):
        StageRun(means, asked).run()


def test_more_steps_continue_the_run_and_keep_the_proof_until_then(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    trains_well(api, store)
    first = StageRun(means, asked).run()
    more = stage_inputs(api, settings={**asked["settings"], "steps": 30})
    more["artifacts"] = {**asked["artifacts"], "steps": 30}
    fails(api)
    with pytest.raises(UnfinishedError) as failed:
        StageRun(means, more, first).run()
    assert failed.value.outputs["proven_digest"] == digest_of(asked)
    assert failed.value.outputs["state"] == "failed"
    assert record(store)["proven"]["document"]["settings"]["steps"] == 20
    trains_well(api, store, 30)
    kept = StageRun(means, more, failed.value.outputs).run()
    assert (kept["proven_digest"], kept["committed_step"]) == (digest_of(more), 30)


def test_fewer_steps_than_committed_are_refused(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    trains_well(api, store)
    first = StageRun(means, asked).run()
    fewer = stage_inputs(api, settings={**asked["settings"], "steps": 10})
    with pytest.raises(RefusedError, match="already holds step 20"):
        StageRun(means, fewer, first).run()


def test_a_failure_is_reported_with_the_first_failed_pods_own_last_lines(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    """A1, and pods killed with a Job vanish with their logs."""
    fails(api, "RESOURCE_EXHAUSTED: out of memory\nhf_abcdefghijklmnop")
    began = time.monotonic()
    with pytest.raises(UnfinishedError) as failed:
        StageRun(means, asked).run()
    assert time.monotonic() - began < 3
    text = failed.value.text
    assert "JobSet ns/r-sft failed (ReachedMaxRestarts: first job failed)" in text
    assert "r-sft-slice-0-1-a0: slice 0, host 1, node tpu-1, attempt 1: exit code 1" in text
    assert "does not fit into the chips' memory" in text
    assert "killed" not in text
    assert "hf-to-mt: gs://bucket/m/0/items/" in text
    assert "stop: pulumi destroy" in text
    assert record(store)["attempt"]["state"] == "failed"


def test_a_failed_stage_runs_again_after_its_old_jobset_is_removed(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    """A3."""
    fails(api)
    with pytest.raises(UnfinishedError) as failed:
        StageRun(means, asked).run()
    trains_well(api, store)
    kept = StageRun(means, asked, failed.value.outputs).run()
    assert kept["state"] == "proven"
    assert kept["attempts"] == 2
    assert len({jobset["metadata"]["uid"] for jobset in api.posted}) == 2


def test_a_failed_jobset_whose_last_step_is_proven_is_a_success_with_a_warning(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any], heard: Heard
) -> None:
    def run(jobset: dict[str, Any]) -> None:
        put_step(store, 20)
        api.finish("r-sft", "Failed", "ReachedMaxRestarts")

    api.on_create = run
    assert StageRun(means, asked).run()["state"] == "proven"
    assert "taken as a success" in heard.warnings[0]


def test_a_completed_jobset_without_its_result_is_a_failure(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    """MaxText exits 0 when its data runs out."""

    def run(jobset: dict[str, Any]) -> None:
        put_step(store, 13)
        api.finish("r-sft", "Completed")

    api.on_create = run
    with pytest.raises(UnfinishedError, match=r"ended early.*step 13, not 20") as failed:
        StageRun(means, asked).run()
    assert failed.value.outputs["committed_step"] == 13


def test_only_a_terminal_condition_that_is_true_decides(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    thread, result = start(StageRun(means, asked))
    wait_until(lambda: bool(api.posted))
    jobset = api.objects[JOBSETS]["r-sft"]
    false = [
        {"type": "Completed", "status": "False"},
        {"type": "Suspended", "status": "True"},
        {"type": "Failed", "status": "Unknown"},
    ]
    api.put(JOBSETS, {**jobset, "status": {"conditions": false, "restarts": 1}})
    api.put(PODS, pod(jobset, 0, exit_code=0))
    thread.join(0.3)
    assert not result
    put_step(store, 20)
    api.finish("r-sft", "Completed")
    thread.join(5)
    assert result[0]["state"] == "proven"


def test_an_interrupted_stage_ends_at_once_and_the_next_up_attaches(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any], heard: Heard
) -> None:
    """A5, A8."""
    run = StageRun(means, asked)
    thread, result = start(run)
    wait_until(lambda: bool(api.posted))
    began = time.monotonic()
    run.interrupt()
    thread.join(5)
    assert time.monotonic() - began < 1
    assert result[0].outputs["state"] == "interrupted"
    assert "attaches" in result[0].text
    assert list(api.objects[JOBSETS]) == ["r-sft"]

    thread, result = start(StageRun(means, asked))
    wait_until(lambda: any("attached" in text for text in heard.infos))
    put_step(store, 20)
    api.finish("r-sft", "Completed")
    thread.join(5)
    assert result[0]["state"] == "proven"
    assert len(api.posted) == 1


def test_a_run_that_ended_while_nobody_watched_is_proven_without_running(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    started(store, asked)
    put_step(store, 20)
    kept = StageRun(means, asked).run()
    assert kept["state"] == "proven"
    assert not api.posted


def test_our_running_jobset_with_other_steps_is_stopped_and_its_checkpoint_named(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any], heard: Heard
) -> None:
    running(api, asked, "digest of other steps")
    started(store, {**asked, "settings": {**asked["settings"], "steps": 40}})
    put_step(store, 15)
    trains_well(api, store)
    assert StageRun(means, asked).run()["state"] == "proven"
    assert "kept: step 15" in heard.warnings[0]


def test_a_foreign_jobset_of_the_same_name_is_refused(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    running(api, asked, None)
    with pytest.raises(RefusedError, match="not this program's"):
        StageRun(means, asked).run()
    assert list(api.objects[JOBSETS]) == ["r-sft"]


def test_a_terminating_twin_is_waited_for_and_never_judged(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    """A6: the old object is Completed and still held by a finalizer."""
    twin = running(api, asked, digest_of(asked))
    twin["metadata"]["deletionTimestamp"] = NOW
    twin["status"] = {"conditions": [{"type": "Completed", "status": "True"}]}
    api.put(JOBSETS, twin)
    started(store, asked)
    trains_well(api, store)
    thread, result = start(StageRun(means, asked))
    thread.join(0.2)
    assert not result
    assert not api.posted
    api.remove(JOBSETS, "r-sft")
    thread.join(5)
    assert result[0]["state"] == "proven"
    assert result[0]["jobset_uid"] != "uid-before"


def test_data_that_no_record_explains_is_refused(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    """MaxText would resume a stranger's checkpoint."""
    put_step(store, 5)
    with pytest.raises(RefusedError, match="no record explains"):
        StageRun(means, asked).run()
    assert RECORD not in store.objects


def test_an_empty_placeholder_is_nobodys_data(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    store.put("m/trained/r/checkpoints/", b"")
    trains_well(api, store)
    assert StageRun(means, asked).run()["state"] == "proven"


def test_a_second_stack_is_turned_away_while_the_first_one_runs(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    started(store, asked, owner="stack p/other", ends_by="2026-12-02T00:00:00Z")
    with pytest.raises(RefusedError, match="in use: stack p/other"):
        StageRun(means, asked).run()
    means.now = lambda: datetime.fromisoformat(NOW) + timedelta(days=2)
    trains_well(api, store)
    assert StageRun(means, asked).run()["state"] == "proven"


def test_the_second_writer_of_a_record_loses(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    original = api.on_create

    def somebody_else(jobset: dict[str, Any]) -> None:
        original(jobset)
        started(store, asked, owner="stack p/other")
        put_step(store, 20)
        api.finish("r-sft", "Completed")

    api.on_create = somebody_else
    with pytest.raises(RefusedError, match="written by another run"):
        StageRun(means, asked).run()
    assert record(store)["attempt"]["owner"] == "stack p/other"


@pytest.mark.parametrize("key", ["start_timeout_minutes", "timeout_minutes"])
def test_a_deadline_frees_the_chips(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any], key: str
) -> None:
    def run(jobset: dict[str, Any]) -> None:
        for host in range(2 if key == "timeout_minutes" else 1):
            api.put(PODS, pod(jobset, host))

    api.on_create = run
    with pytest.raises(UnfinishedError, match=f"within {key}"):
        StageRun(means, {**asked, key: 0.005}).run()
    wait_until(lambda: not api.objects[JOBSETS])


def test_a_jobset_deleted_by_hand_while_it_runs_ends_the_stage(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    thread, result = start(StageRun(means, asked))
    wait_until(lambda: api.requests[f"GET {JOBSETS}?watch"] > 0)
    api.remove(JOBSETS, "r-sft")
    thread.join(5)
    assert "was deleted by somebody" in result[0].text


def test_another_jobset_of_the_same_name_is_not_judged_as_ours(
    api: FakeApiServer, means: Means, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found only by a new list, as after a long outage; its Completed is not ours."""
    monkeypatch.setattr(watch, "_FIRST_PAUSE_SECONDS", 0.01)
    thread, result = start(StageRun(means, asked))
    wait_until(lambda: api.requests[f"GET {JOBSETS}?watch"] > 0)
    api.fail(*[(f"{JOBSETS}?watch", 503)] * 3)
    api.drop_connections()
    api.remove(JOBSETS, "r-sft")
    running(api, asked, digest_of(asked))
    api.finish("r-sft", "Completed")
    api.forget_history()
    thread.join(10)
    assert "was deleted by somebody" in result[0].text


def test_a_refused_submission_is_a_failure_that_names_the_reason(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    original = api.post

    def refuse(handler: Any) -> None:
        # Scripted here: the first request on that path is the look-up by name.
        api.fail((JOBSETS, 422))
        original(handler)

    api.post = refuse  # type: ignore[method-assign]
    with pytest.raises(UnfinishedError, match="refused JobSet r-sft: scripted 422"):
        StageRun(means, asked).run()


def test_an_expired_token_in_the_middle_is_renewed(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any], tmp_path: Any
) -> None:
    """A token lives for an hour, a stage for longer."""
    plugin = tmp_path / "plugin"
    plugin.write_text(
        "#!/bin/sh\n"
        f"n=$(cat {tmp_path}/n 2>/dev/null || echo 0); n=$((n+1)); echo $n > {tmp_path}/n\n"
        'echo "{\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"kind\\":\\"E\\",'
        '\\"status\\":{\\"token\\":\\"t$n\\"}}"\n'
    )
    plugin.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}}
    inputs = {**asked, "kubeconfig": api.kubeconfig(user)}
    api.accepted_token = "t1"
    thread, result = start(StageRun(means, inputs))
    wait_until(lambda: api.requests[f"GET {PODS}?watch"] > 0)
    api.accepted_token = "t2"
    api.drop_connections()
    put_step(store, 20)
    api.finish("r-sft", "Completed")
    thread.join(5)
    assert result[0]["state"] == "proven"


def test_a_missing_credential_plugin_is_named(
    api: FakeApiServer, means: Means, asked: dict[str, Any]
) -> None:
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "no-such-plugin",
            "installHint": "install it so",
        }
    }
    with pytest.raises(RefusedError, match="no-such-plugin is not on PATH: install it so"):
        StageRun(means, {**asked, "kubeconfig": api.kubeconfig(user)}).run()


def test_reading_a_proven_stage_keeps_it_whatever_became_of_the_jobset(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    trains_well(api, store)
    kept = StageRun(means, asked).run()
    api.remove(JOBSETS, "r-sft")
    assert lifecycle.read(means, kept) == kept


def test_reading_an_unproven_stage_says_again_that_it_is_not_done(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    """The engine forgets failures on a refresh; the outputs must not."""
    fails(api)
    with pytest.raises(UnfinishedError) as failed:
        StageRun(means, asked).run()
    with pytest.raises(UnfinishedError, match="exit code 1") as again:
        lifecycle.read(means, failed.value.outputs)
    assert again.value.outputs["state"] == "failed"


def test_reading_finds_what_another_laptop_has_proven(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    fails(api)
    with pytest.raises(UnfinishedError) as failed:
        StageRun(means, asked).run()
    trains_well(api, store)
    StageRun(means, asked).run()
    assert lifecycle.read(means, failed.value.outputs)["state"] == "proven"


def test_reading_tells_drift_and_runs_nothing(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any], heard: Heard
) -> None:
    trains_well(api, store)
    kept = StageRun(means, asked).run()
    del store.objects["m/trained/r/checkpoints/20/model_params/manifest.ocdbt"]
    assert lifecycle.read(means, kept)["state"] == "proven"
    assert "manifest.ocdbt" in heard.warnings[0]


def test_deleting_waits_for_the_pods_and_keeps_every_artifact(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    trains_well(api, store)
    kept = StageRun(means, asked).run()
    api.delete_seconds = 0.3
    before = dict(store.objects)
    lifecycle.delete(means, kept, threading.Event(), Inbox())
    assert not api.objects[JOBSETS]
    assert not api.objects[PODS]
    assert store.objects == before


def test_deleting_what_is_gone_is_done(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    """A9."""
    lifecycle.delete(means, asked, threading.Event(), Inbox())
    api.close()
    with pytest.raises(ClusterError, match="cannot be reached"):
        lifecycle.delete(means, asked, threading.Event(), Inbox())


def test_deleting_leaves_a_foreign_jobset_alone(
    api: FakeApiServer, means: Means, asked: dict[str, Any]
) -> None:
    running(api, asked, None)
    lifecycle.delete(means, asked, threading.Event(), Inbox())
    assert list(api.objects[JOBSETS]) == ["r-sft"]


def test_deleting_a_running_stage_frees_its_directory(
    api: FakeApiServer, store: MemoryStore, means: Means, asked: dict[str, Any]
) -> None:
    run = StageRun(means, asked)
    thread, result = start(run)
    wait_until(lambda: bool(api.posted))
    run.interrupt()
    thread.join(5)
    lifecycle.delete(means, result[0].outputs, threading.Event(), Inbox())
    assert record(store)["attempt"]["state"] == "stopped"


def test_times_are_written_in_utc() -> None:
    moment = datetime(2026, 12, 1, 10, tzinfo=UTC)
    assert lifecycle.rfc3339(moment) == NOW
