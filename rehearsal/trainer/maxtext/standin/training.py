"""Stage `sft`: the training loop without a model.

Resume, checkpoints, log lines and endings are those of MaxText 0.2.4 with the image's Tunix: a
step every `seconds_per_step`, all hosts in step, only host 0 writes.
"""

import math
import os
import signal
import time
from dataclasses import dataclass, field

from . import log
from .arguments import Arguments
from .hosts import Hosts
from .losses import loss
from .objects import BucketError, Location, Store
from .program import TrainerExit, cut_short, exit_if_due
from .settings import Settings
from .trees import MARKER, METADATA, Tree

# Tunix keeps the newest three, whatever max_num_checkpoints_to_keep says.
KEPT_CHECKPOINTS = 3
# Hosts meet this often, not at each step: eight processes share two cores.
_BARRIER_EVERY_SECONDS = 0.05
_TOKENS_PER_STEP_AND_CHIP = 2048
_TARGET_TOKENS = 41984
_PROFILER_STEPS = 5


@dataclass
class Run:
    """One training run of one host: where it writes, how far it goes and how far it is."""

    told: Settings
    store: Store
    root: Location
    steps: int
    checkpoint_period: int
    profiler: bool
    hosts: Hosts
    step: int = 0
    losses: list[float] = field(default_factory=list)

    @property
    def checkpoints(self) -> Location:
        """Return the folder of this run's checkpoints."""
        return self.root / "checkpoints"

    @property
    def writes(self) -> bool:
        """Return whether this is the one process that writes."""
        return self.told.host == 0 and self.told.slice_id == 0


def train(arguments: Arguments, told: Settings) -> None:
    """Run the stage: load the base, restore the newest checkpoint, train, save."""
    run_name = arguments.text("run_name", "gemma4-31b")
    root = Location.parse(arguments.folder("base_output_directory")) / run_name
    steps = arguments.number("steps", 150_001)
    period = arguments.number("checkpoint_period", 10_000)
    timeout = arguments.number("jax_distributed_initialization_timeout", 300)
    profiler = arguments.text("profiler", "") == "xplane"
    _on_sigterm(told)
    hosts = Hosts(told, timeout)
    run = Run(told, Store(), root, steps, period, profiler, hosts)
    log.info("max_utils.py:832", "System Information: Jax Version: 0.11.0")
    _load_base(run, arguments)
    _restore(run)
    _check_profiler(run)
    log.info("metric_logger.py:374", "number parameters: 30.697 billion")
    _loop(run)
    if fault := told.fault("late_exit"):
        raise TrainerExit(fault.exit_code, f"RuntimeError: {fault.message}")
    run.hosts.barrier()


def _on_sigterm(told: Settings) -> None:
    """Take SIGTERM as JAX's preemption notifier does: it is logged, and training goes on."""
    if not told.swallow_sigterm:
        return

    def caught(_number: int, _frame: object) -> None:
        # The signal may have interrupted a log call; its stream cannot be entered twice.
        os.write(2, b"SIGTERM caught. Received preemption notice\n")

    signal.signal(signal.SIGTERM, caught)


def _load_base(run: Run, arguments: Arguments) -> None:
    """Read the base checkpoint, as MaxText does also when it then restores a newer one."""
    url = arguments.values.get("load_parameters_path")
    if url is None:
        return  # MaxText trains from random weights then, without a word.
    folder = Location.parse(url)
    if run.told.host == 0 and not run.store.exists(folder, MARKER):
        raise BucketError(f"ValueError: No valid Orbax checkpoint found at {url}")
    log.info("event_tracking.py:184", f"[sync] Finished load in 0.27 seconds @ {folder}")


def _committed_steps(run: Run) -> list[int]:
    folders = (name for name in run.store.folders(run.checkpoints) if name.isdigit())
    return sorted(int(name) for name in folders if run.store.exists(run.checkpoints / name, MARKER))


def _restore(run: Run) -> None:
    """Go on after the newest committed step, if there is one."""
    steps = _committed_steps(run)
    log.info(
        "checkpoint_manager.py:1050", f"Found {len(steps)} checkpoint steps in {run.checkpoints}"
    )
    # Every host has listed before any host writes: all start from the same step.
    run.hosts.barrier()
    if not steps:
        return
    run.step = steps[-1]
    log.info("checkpoint_manager.py:265", f"Restored params from step: {run.step} in 0.043 seconds")


def _check_profiler(run: Run) -> None:
    if run.profiler and run.step >= max(run.steps - 1, 1):
        raise TrainerExit(
            1,
            f"ValueError: First profile step {run.step + 1} cannot be greater than the last "
            f"profile step {run.steps}.",
        )


def _loop(run: Run) -> None:
    """Train until `steps`, or until the data ends, and save what was reached."""
    every = max(round(_BARRIER_EVERY_SECONDS / max(run.told.seconds_per_step, 1e-6)), 1)
    started, first = time.monotonic(), run.step
    saved = run.step
    while run.step < run.steps:
        step = run.step + 1
        exit_if_due(run.told, step)
        # Simulated work: the time that a step takes.
        due = started + (step - first) * run.told.seconds_per_step
        time.sleep(max(due - time.monotonic(), 0))
        if step % every == 0:
            run.hosts.barrier()
        run.step = step
        _report(run, max(run.told.seconds_per_step, 1e-4))
        _profile(run, first)
        if step % run.checkpoint_period == 0:
            _save(run)
            saved = step
        if run.told.fault("early_end", step):
            log.info("train_utils.py:71", "Exception in load_next_train_batch: StopIteration()")
            break
    log.info("peft_trainer.py:911", f"Train loop finished in: {time.monotonic() - started:.4f} s")
    if saved != run.step:
        _save(run)


def _report(run: Run, seconds: float) -> None:
    """Write the two lines of a step, or end the run on a loss that is no number."""
    value = math.nan if run.told.fault("nan", run.step) else loss(run.step)
    run.losses.append(value)
    perplexity = math.exp(sum(run.losses) / len(run.losses))
    log.info(
        "peft_trainer.py:488",
        f"Train step {run.step} training loss: {value:.6f}  - training perplexity: "
        f"{math.exp(value):.6f}",
    )
    log.info(
        "metric_logger.py:230",
        f"completed step: {run.step}, seconds: {seconds:.3f}, TFLOP/s/device: 0.000, "
        f"Tokens/s/device: {_TOKENS_PER_STEP_AND_CHIP / seconds:.3f}, "
        f"total_weights: {_TARGET_TOKENS}, loss: {value:.3f}, lm_loss: 0.000, "
        f"perplexity: {perplexity:.3f}",
    )
    if math.isnan(value):
        raise TrainerExit(1, "RuntimeError: Aborting training due to NaN loss.")


def _profile(run: Run, first: int) -> None:
    if not run.profiler or not run.writes:
        return
    if run.step == first + 1:
        log.info("profiler.py:85", f"Starting JAX profiler at step {run.step}.")
    if run.step == min(first + 1 + _PROFILER_STEPS, run.steps):
        log.info("profiler.py:113", f"Stopping JAX profiler at step {run.step}.")
        folder = run.root / "tensorboard/plugins/profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
        run.store.put(folder, "host.xplane.pb", b"\0" * 64)


def _save(run: Run) -> None:
    """Save the step reached: host 0 writes, the others wait, old steps go."""
    folder = run.checkpoints / str(run.step)
    started = time.monotonic()
    if run.writes:
        if run.store.exists(folder, METADATA):
            log.warning(
                "atomicity.py:121",
                f"Attempted to create temporary directory {folder} which already exists. "
                "Removing existing directory since it is not finalized.",
            )
            run.store.delete(folder)
        tree = Tree("checkpoint", folder, run.told.hosts)
        tree.write(run.store)
        if fault := run.told.fault("partial_checkpoint", run.step):
            raise cut_short(fault)
        tree.commit(run.store)
        for old in _committed_steps(run)[:-KEPT_CHECKPOINTS]:
            run.store.delete(run.checkpoints / str(old))
    run.hosts.barrier()
    log.info(
        "event_tracking.py:184",
        f"[process={run.told.host}] [async] Finished save (blocking + background) in "
        f"{time.monotonic() - started:.2f} seconds @ {folder}",
    )
