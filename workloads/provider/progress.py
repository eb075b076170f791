"""Read a trainer's log lines and tell in one line how far the stage is.

The formats are those of MaxText 0.2.4: `metric_logger.py` (completed step), Tunix and Orbax
(checkpoints) and the two converters.
"""

import re
from dataclasses import dataclass, field
from statistics import median

_NUMBER = r"(-?(?:[0-9.]+(?:[eE][+-]?[0-9]+)?|nan|inf))"
_STEP = re.compile(
    r"completed (?:profiler activation/deactivation )?step: (\d{1,12})(?:, seconds: ([0-9.]{1,20})"
    r"(?:, live slice count: \d+)?"
    r"(?:, TFLOP/s/device: ([0-9.]+), Tokens/s/device: ([0-9.]+))?"
    r", total_weights: [0-9.eE+-]+, loss: " + _NUMBER + r")?"
)
_SAVED = re.compile(r"Finished save .* @ \S*?/checkpoints/(\d{1,12})")
_RESTORED = re.compile(r"Restored params from step: (\d{1,12})")
_PHASES = (
    ("Lazy loading ENABLED", "loading weights from the Hub"),
    ("Starting weight transformation", "transforming weights"),
    ("Shard weights across", "sharding weights"),
    ("saved a checkpoint at step 0", "checkpoint saved"),
    ("System Information: Jax Version", "JAX started"),
    ("Finished load in", "base checkpoint loaded"),
    ("number parameters:", "compiling"),
    ("Train loop finished in:", "saving the last checkpoint"),
    ("Conversion complete", "conversion complete"),
    ("model successfully saved in HuggingFace format", "export written"),
)
# Steps that include compilation and the profiler say nothing about the pace.
_WARM_UP_STEPS = 7
_PACE_WINDOW = 50


@dataclass
class Progress:
    """What the log of one attempt has told so far.

    `seconds_per_step` is the median of the latest steps without the first one seen and, as soon as
    there are others, without the first seven; losses are those of the first and of the newest step
    seen.
    """

    total_steps: int | None = None
    step: int | None = None
    first_loss: float | None = None
    last_loss: float | None = None
    tokens_per_second_per_chip: float | None = None
    saved_step: int | None = None
    restored_step: int | None = None
    phase: str = ""
    _seconds: list[float] = field(default_factory=list)
    _warm_seconds: list[float] = field(default_factory=list)

    def read(self, line: str) -> bool:
        """Take in one log line; tell whether it changed what there is to say."""
        if found := _STEP.search(line):
            self._completed(found)
            return True
        if found := _SAVED.search(line):
            self.saved_step = int(found.group(1))
            return True
        if found := _RESTORED.search(line):
            self.restored_step = int(found.group(1))
            return True
        for marker, phase in _PHASES:
            if marker in line:
                self.phase = phase
                return True
        return False

    def _completed(self, found: re.Match[str]) -> None:
        self.step = int(found.group(1))
        if found.group(2) is None:
            return
        seconds, loss = _float(found.group(2)), _float(found.group(5))
        # The first step of an attempt, whatever its number, is mostly compilation.
        if seconds is not None and self.first_loss is not None:
            warm = self._warm_seconds if self.step <= _WARM_UP_STEPS else self._seconds
            warm.append(seconds)
            del warm[:-_PACE_WINDOW]
        if loss is not None:
            self.first_loss = loss if self.first_loss is None else self.first_loss
            self.last_loss = loss
        if self.step > _WARM_UP_STEPS or self.tokens_per_second_per_chip is None:
            self.tokens_per_second_per_chip = _float(found.group(4) or "")

    @property
    def seconds_per_step(self) -> float | None:
        """Median seconds of the latest steps, or None before the second one."""
        seconds = self._seconds or self._warm_seconds
        return median(seconds) if seconds else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the last step at the present pace, or None while that is not known."""
        if self.total_steps is None or self.step is None or self.seconds_per_step is None:
            return None
        return max(0, self.total_steps - self.step) * self.seconds_per_step

    def figures(self) -> dict[str, float]:
        """Return the figures that are kept with the result, those that are known."""
        found = {
            "first_loss": self.first_loss,
            "last_loss": self.last_loss,
            "seconds_per_step": self.seconds_per_step,
            "tokens_per_second_per_chip": self.tokens_per_second_per_chip,
        }
        # NaN and infinity are no JSON numbers and would break record and state.
        return {k: v for k, v in found.items() if v is not None and abs(v) < float("inf")}

    def line(self) -> str:
        """Return step, loss, pace and time left, or the phase while there is no step yet."""
        if self.step is None:
            return self.phase
        parts = [f"step {self.step}" + (f"/{self.total_steps}" if self.total_steps else "")]
        if self.last_loss is not None:
            parts.append(f"loss {self.last_loss:.3f}")
        if self.seconds_per_step is not None:
            parts.append(f"{self.seconds_per_step:.3g} s/step")
        if self.seconds_left:
            parts.append(f"{duration(self.seconds_left)} left")
        if self.step == self.total_steps and self.phase == "saving the last checkpoint":
            parts.append(self.phase)
        return ", ".join(parts)


@dataclass
class Throttle:
    """Lets a message through when it says something new of weight, else only at an interval.

    Without a terminal every live message becomes a line of its own, hence the long interval there.
    """

    interval_seconds: float
    _last_seconds: float = float("-inf")
    _last_kind: str = ""

    def due(self, kind: str, now_seconds: float) -> bool:
        """Whether to show a message of this kind now; a change of kind is always shown."""
        if kind == self._last_kind and now_seconds - self._last_seconds < self.interval_seconds:
            return False
        self._last_kind, self._last_seconds = kind, now_seconds
        return True


def duration(seconds: float) -> str:
    """Return seconds as people say them: `45 s`, `12 min`, `3 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole < 600 and whole % 60 else "")
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def cost(usd_per_hour: float | None, seconds: float) -> str:
    """Return what a stage has cost so far, or nothing when the price is not known."""
    return "" if usd_per_hour is None else f"${usd_per_hour * seconds / 3600:,.2f}"


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
