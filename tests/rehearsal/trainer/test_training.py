"""Stage `sft` of the stand-in: what it leaves and says is what the real trainer leaves and says."""

from __future__ import annotations

import json
import re
import signal

import pytest

from tests.rehearsal.trainer.conftest import STORE, Trainer

# The line that a reader of MaxText's log looks for; it matched every line of real runs.
COMPLETED = re.compile(
    r"[IW]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ metric_logger\.py:\d+\] completed step: (\d+), "
    r"seconds: ([0-9.]+), TFLOP/s/device: ([0-9.]+), Tokens/s/device: ([0-9.]+), "
    r"total_weights: ([0-9.]+), loss: ([0-9.]+), lm_loss: 0\.000, perplexity: ([0-9.]+)"
)


def test_every_step_has_a_line_in_the_format_of_the_real_trainer(trainer: Trainer) -> None:
    outcome = trainer.train("steps=4")
    assert outcome.codes == [0]
    found = [COMPLETED.search(line) for line in outcome.logs[0].splitlines()]
    assert [match[1] for match in found if match] == ["1", "2", "3", "4"]


def test_loss_falls_as_the_guide_says(trainer: Trainer) -> None:
    outcome = trainer.train("steps=1000")
    losses = {int(m[1]): float(m[6]) for m in COMPLETED.finditer(outcome.logs[0])}
    assert losses[5] == 1.57
    assert losses[1000] == 0.82
    assert losses[5] > losses[100] > losses[500] > losses[1000]


def test_final_step_is_saved_with_its_marker_last(trainer: Trainer) -> None:
    trainer.train("steps=3")
    written = trainer.times("trained/sft/checkpoints/3/")
    assert max(written, key=lambda name: written[name]) == "commit_success.txt"
    metadata = json.loads(trainer.content("trained/sft/checkpoints/3/_CHECKPOINT_METADATA"))
    assert metadata["commit_timestamp_nsecs"] > metadata["init_timestamp_nsecs"]
    assert set(metadata["item_handlers"]) == {"model_params", "optimizer_state"}
    marker = trainer.content("trained/sft/checkpoints/3/model_params/commit_success.txt").decode()
    assert marker == (
        f"Checkpoint commit was successful to {STORE}/trained/sft/checkpoints/3/model_params"
    )


def test_only_the_newest_three_checkpoints_are_kept(trainer: Trainer) -> None:
    trainer.train("steps=10", "checkpoint_period=2")
    assert trainer.steps() == [6, 8, 10]


def test_run_goes_on_after_the_newest_committed_step(trainer: Trainer) -> None:
    trainer.tell(faults={"sft": {"at_step": 5}})
    assert trainer.train("steps=6", "checkpoint_period=2").codes == [1]
    trainer.tell()
    outcome = trainer.train("steps=6", "checkpoint_period=2")
    assert "Found 2 checkpoint steps in" in outcome.logs[0]
    assert "Restored params from step: 4 in" in outcome.logs[0]
    assert outcome.steps == [5, 6]
    assert trainer.steps() == [2, 4, 6]


def test_step_without_a_marker_is_not_resumed_and_is_replaced(trainer: Trainer) -> None:
    trainer.tell(faults={"sft": {"kind": "partial_checkpoint", "at_step": 4}})
    assert trainer.train("steps=4", "checkpoint_period=2").codes == [137]
    assert trainer.steps() == [2]
    assert trainer.steps(committed=False) == [2, 4]
    trainer.put("trained/sft/checkpoints/4/left", b"by the attempt that was killed")
    trainer.tell()
    outcome = trainer.train("steps=4", "checkpoint_period=2")
    assert outcome.steps == [3, 4]
    assert "already exists" in outcome.logs[0]
    assert trainer.steps() == [2, 4]
    assert "left" not in trainer.names("trained/sft/checkpoints/4/")


def test_finished_run_does_nothing_and_succeeds(trainer: Trainer) -> None:
    trainer.train("steps=2")
    before = trainer.times("trained/")
    outcome = trainer.train("steps=2")
    assert outcome.codes == [0]
    assert outcome.steps == []
    assert trainer.times("trained/") == before


def test_profiler_breaks_a_finished_run(trainer: Trainer) -> None:
    trainer.train("steps=2", "profiler=xplane")
    outcome = trainer.train("steps=2", "profiler=xplane")
    assert outcome.codes == [1]
    assert "First profile step 3 cannot be greater than the last profile step 2." in outcome.logs[0]


def test_base_without_a_marker_is_refused(trainer: Trainer) -> None:
    outcome = trainer.train("steps=2", f"load_parameters_path={STORE}/max-text-format/0/items/")
    assert outcome.codes == [1]
    assert f"No valid Orbax checkpoint found at {STORE}/max-text-format/0/items/" in outcome.logs[0]


def test_hosts_leave_what_each_of_them_writes(four_hosts: Trainer) -> None:
    outcome = four_hosts.train("steps=2")
    assert outcome.codes == [0] * 4
    names = four_hosts.names("trained/sft/checkpoints/2/model_params/")
    writers = {name.split("/")[0] for name in names if name.startswith("ocdbt.process_")}
    assert writers == {f"ocdbt.process_{host}" for host in range(4)}
    assert {f"array_metadatas/process_{host}" for host in range(4)} < set(names)


def test_survivors_of_a_lost_host_abort(four_hosts: Trainer) -> None:
    four_hosts.tell(faults={"sft": {"at_step": 30, "host": 2, "exit_code": 3}})
    outcome = four_hosts.train("steps=100")
    assert outcome.codes == [134, 134, 3, 134]
    assert "JAX distributed service detected fatal errors" in outcome.logs[0]


def test_host_that_never_comes_ends_the_others_in_time(trainer: Trainer) -> None:
    trainer.hosts = 2
    trainer.start(
        "sft",
        f"base_output_directory={STORE}/trained/",
        "steps=1",
        "jax_distributed_initialization_timeout=1",
    )
    trainer.processes[1].kill()
    outcome = trainer.wait()
    assert outcome.codes[0] == 1
    assert "DEADLINE_EXCEEDED" in outcome.logs[0]


def test_data_that_runs_out_ends_the_run_early_and_successfully(trainer: Trainer) -> None:
    trainer.tell(faults={"sft": {"kind": "early_end", "at_step": 3}})
    outcome = trainer.train("steps=10")
    assert outcome.codes == [0]
    assert trainer.steps() == [3]
    assert "Exception in load_next_train_batch" in outcome.logs[0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("nan", "Aborting training due to NaN loss."),
        ("out_of_memory", "RESOURCE_EXHAUSTED"),
    ],
)
def test_fault_exits_with_1_and_the_real_words(trainer: Trainer, kind: str, text: str) -> None:
    trainer.tell(faults={"sft": {"kind": kind, "at_step": 2}})
    outcome = trainer.train("steps=3")
    assert outcome.codes == [1]
    assert text in outcome.logs[0]
    assert trainer.steps() == []


def test_fault_with_times_spares_later_attempts(trainer: Trainer) -> None:
    trainer.tell(faults={"sft": {"at_step": 2, "times": 2}})
    assert [trainer.train("steps=3").codes for _ in range(3)] == [[1], [1], [0]]


def test_sigterm_does_not_end_training(trainer: Trainer) -> None:
    trainer.tell(faults={"sft": {"kind": "hang", "at_step": 3}})
    trainer.start("sft", f"base_output_directory={STORE}/trained/", "run_name=sft", "steps=4")
    (process,) = trainer.processes
    assert process.stdout
    line = ""
    while "completed step: 2" not in line:
        line = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert "Received preemption notice" in process.stdout.readline()
    assert process.poll() is None
