"""A local cloud for one measurement, in a folder of its own that is gone afterwards."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from rehearsal.cli import Stack
from rehearsal.cloud.client import Cloud
from rehearsal.environment import CHECKOUT, prepare

PREFIX = "maxtext-sft-bench-"
GUIDE = "rehearsal-guide"


@contextlib.contextmanager
def temporary_home() -> Iterator[Path]:
    """Make a home; whatever happens its cloud is ended and its folder removed."""
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        home = Path(folder).resolve() / "home"
        prepare(home)
        try:
            yield home
        finally:
            Cloud(home).down()


def stack_file(home: Path, **run: Any) -> Path:
    """Write the guide's stack file with other settings of the run; return where it is."""
    document = yaml.safe_load((CHECKOUT / f"Pulumi.{GUIDE}.yaml").read_text())
    document["config"]["maxtext-sft:run"] |= run
    path = home / f"Pulumi.{GUIDE}.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def tell_trainer(stack: Stack, **settings: Any) -> None:
    """Set pace and faults of the stand-in trainer, for pods that start from now on."""
    (stack.home / "trainer.json").write_text(json.dumps(settings))
