"""Measure this project's figures and print them; `--write` also puts them into the page."""

from __future__ import annotations

import argparse
import datetime
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator

from rehearsal.bench import cold, demos, endings, figures, machine, page, previews, sizes, tests
from rehearsal.bench.clouds import GUIDE, temporary_home
from rehearsal.bench.commands import BenchError
from rehearsal.cli import Stack
from rehearsal.cloud.client import CloudError
from rehearsal.environment import CHECKOUT

PAGE = CHECKOUT / "docs" / "performance.md"

Measurement = Callable[[int], Iterator[tuple[str, float]]]

MEASUREMENTS: dict[str, Measurement] = {
    "sizes": sizes.sizes,
    "unit": tests.unit,
    "preview": previews.previews,
    "failure": endings.failures,
    "interrupt": endings.interrupts,
    "guide": demos.guide,
    "real": demos.real,
}
# Too long, or too much to download, to be done unasked.
ON_REQUEST: dict[str, Measurement] = {"test": tests.everything, "cold": cold.cold}


def chosen(names: list[str], *, with_cold: bool) -> list[str]:
    """Return what to measure, in order; `--cold` alone means nothing else."""
    if not names:
        return ["cold"] if with_cold else list(MEASUREMENTS)
    return [*names, *(["cold"] if with_cold and "cold" not in names else [])]


def measure(names: list[str], runs: int) -> dict[str, list[float]]:
    """Measure and return the values of each figure; a value is told as soon as it is there."""
    values: dict[str, list[float]] = defaultdict(list)
    texts = {each.key: f"{each.text}, {each.unit}" for each in figures.MEASURES}
    for name in names:
        for key, value in (MEASUREMENTS | ON_REQUEST)[name](runs):
            values[key].append(value)
            print(f"{name}: {value:.2f} ({texts[key]})", file=sys.stderr, flush=True)
    return values


def main() -> int:
    """Measure what was asked for; no figure makes this fail."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.bench", description=__doc__)
    everything = [*MEASUREMENTS, *ON_REQUEST]
    parser.add_argument(
        "names", nargs="*", metavar="WHAT",
        help=f"of {', '.join(everything)}; all but the last two by default",
    )  # fmt: skip
    parser.add_argument("--runs", type=int, default=3, help="how often each is measured (3)")
    parser.add_argument("--cold", action="store_true", help="from empty caches: once, 12 minutes")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - set(everything)):
        parser.error(f"{', '.join(unknown)}: choose of {', '.join(everything)}")
    # Terminated like interrupted: what runs for a measurement ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if warning := machine.disturbance():
        print(f"warning: {warning}", file=sys.stderr)
    runs = 1 if arguments.cold else arguments.runs
    try:
        with temporary_home() as home:
            described = machine.description(Stack(GUIDE, home))
        values = measure(chosen(arguments.names, with_cold=arguments.cold), runs)
        lines = figures.rows(values, datetime.date.today().isoformat())
        print(f"{described}\n\n{figures.table(lines)}")
        if arguments.write:
            page.write(PAGE, described, lines)
    except (BenchError, CloudError, page.PageError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


if __name__ == "__main__":
    sys.exit(main())
