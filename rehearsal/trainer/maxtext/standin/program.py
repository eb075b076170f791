"""What the three entry points have in common: how they start, fail and exit."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from . import log, settings
from .arguments import Arguments, ConfigError, parse
from .objects import BucketError
from .settings import Fault, Settings

_FLAGS = {
    "hf-to-mt": (
        *("lazy_load_tensors", "save_dtype", "simulated_cpu_devices_count", "hf_model_path"),
        *("revision", "eager_load_method"),
    ),
    "sft": (),
    "mt-to-hf": ("override_model_architecture", "hf_model_path", "parallel_threads"),
}


class TrainerExit(Exception):  # noqa: N818
    """The process ends with this code after it said why."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def run(stage: str, main: Callable[[Arguments, Settings], None]) -> NoReturn:
    """Run one command and exit as MaxText does: 1 for anything it raises."""
    try:
        told = settings.read(stage)
        if fault := told.fault("config_error"):
            raise ConfigError(fault.message)
        arguments = parse(sys.argv[1:], _FLAGS[stage])
        log.warning("pyconfig.py:100", "No config file provided, using default config mapping")
        main(arguments, told)
    except ConfigError as error:
        _report_config_error(str(error))
        _exit(1)
    except TrainerExit as ending:
        log.plain(str(ending))
        _exit(ending.code)
    except BucketError as error:
        log.plain(str(error))
        _exit(1)
    except Exception:
        traceback.print_exc()
        _exit(1)
    _exit(0)


def exit_if_due(told: Settings, step: int) -> None:
    """Show the faults that end or stop a process at `step`."""
    if fault := told.fault("exit", step):
        raise TrainerExit(fault.exit_code, f"RuntimeError: {fault.message}")
    if told.fault("out_of_memory", step):
        raise TrainerExit(
            1,
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Attempting to reserve 12.35G at the "
            "bottom of memory. That was not possible. There are 9.71G free, 0B reserved, and 9.71G "
            "reservable.",
        )
    if told.fault("hang", step):
        _hang()


def cut_short(fault: Fault) -> TrainerExit:
    """Return the end of a process that was killed in the middle of a write."""
    code = 137 if fault.exit_code == 1 else fault.exit_code
    return TrainerExit(code, f"killed while writing (injected, exit {code})")


def _hang() -> NoReturn:
    """Stay alive and do nothing, as a collective does that one host never enters."""
    while True:
        signal.pause()


def _report_config_error(text: str) -> None:
    """Log the error framed and leave it where the kubelet reads a container's last word."""
    framed = f"{'=' * 80}\nMAXTEXT CONFIG ERROR: {text}\n{'=' * 80}"
    log.plain(framed)
    path = Path(os.environ.get("REHEARSAL_TERMINATION_LOG", "/dev/termination-log"))
    if path.exists():
        path.write_text(framed)


def _exit(code: int) -> NoReturn:
    """Leave at once: neither a peer's open connection nor a thread may hold an exit code back."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def started() -> float:
    """Return the clock that `elapsed_minutes` reads."""
    return time.monotonic()


def elapsed_minutes(since: float) -> str:
    """Return how long a conversion took, in the converters' words."""
    return f"{(time.monotonic() - since) / 60:.2f} min"
