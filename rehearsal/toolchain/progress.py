"""How far a build is and how long it still takes, from what the compiler has finished."""

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

LINE_EVERY_SECONDS = 5.0

# The last link starts when every package is compiled; measured at about a tenth of the whole.
LINK_SHARE = 0.1


@dataclass
class BuildProgress:
    """Counts compiled packages by the size of their sources, which follows compile time."""

    sizes: dict[str, int]
    """Bytes of Go source for each package of the build."""
    started: float
    already_done: frozenset[str] = frozenset()
    """Packages that an earlier, interrupted build left in the build cache."""
    done: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.done = set(self.already_done)

    def finish(self, package: str) -> None:
        """Count one package as compiled; what is not part of the build is ignored."""
        if package in self.sizes:
            self.done.add(package)

    def fraction(self) -> float:
        """Return the part of the whole build that is done, from 0 to 1."""
        return self._share(self.done)

    def seconds_left(self, now: float) -> float | None:
        """Return the seconds to go at this run's own pace; None before anything can be said."""
        gained = self.fraction() - self._share(self.already_done)
        if gained < 0.02:
            return None
        return (now - self.started) / gained * (1 - self.fraction())

    def text(self, now: float) -> str:
        """Return the line a person reads: per cent, packages and time left."""
        left = self.seconds_left(now)
        return (
            f"{self.fraction():.0%}, {len(self.done)} of {len(self.sizes)} packages"
            f"{'' if left is None else f', {duration(left)} left'}"
        )

    def _share(self, packages: set[str] | frozenset[str]) -> float:
        whole = sum(self.sizes.values())
        part = sum(self.sizes.get(package, 0) for package in packages)
        return part / whole * (1 - LINK_SHARE) if whole else 1 - LINK_SHARE


def duration(seconds: float) -> str:
    """Return a duration as people say it, coarse on purpose since it is an estimate."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min"


class Lines:
    """Shows a changing status: in place on a terminal, else as a line now and then."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = stream or sys.stdout
        self._live = self._stream.isatty()
        self._last_shown = -LINE_EVERY_SECONDS
        self._last_text = ""

    def show(self, text: str) -> None:
        """Show a status that the next one may replace."""
        now = time.monotonic()
        if text == self._last_text or (
            now - self._last_shown < (0.2 if self._live else LINE_EVERY_SECONDS)
        ):
            return
        self._last_shown, self._last_text = now, text
        self._write(text, end="" if self._live else "\n")

    def say(self, text: str) -> None:
        """Show a line that stays."""
        self._last_text = text
        self._write(text, end="\n")

    def _write(self, text: str, end: str) -> None:
        lead = "\r\x1b[K" if self._live else ""
        self._stream.write(f"{lead}{self._label}: {text}{end}")
        self._stream.flush()
