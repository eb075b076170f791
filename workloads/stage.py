"""What a stage is: one JobSet of the run, told as data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# A pod is called <jobset>-slice-<job>-<host>-<5 characters>, with two digits for each number, and
# must fit in 63 characters.
JOBSET_NAME_MAX_LENGTH = 45


class Placement(StrEnum):
    """What a stage runs on."""

    SLICE = "slice"
    """Every host of every slice, with all their chips."""
    HOST = "host"
    """One host without chips, with memory for the whole model."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of the run: a MaxText module with its arguments, what it reads and what it leaves.

    URLs end in `/`. `reads` names earlier stages; `artifacts` is what must be found for success.
    """

    name: str
    run: str
    """The part of the JobSet's name that tells two runs or bases apart."""
    module: str
    arguments: Mapping[str, str]
    flags: tuple[str, ...] = ()
    directory: str
    """The directory that belongs to this stage alone, where its record lies."""
    url: str
    """What the next stage or a user loads."""
    reads: tuple[str, ...] = ()
    artifacts: Mapping[str, Any]
    timeout_minutes: int
    placement: Placement = Placement.HOST
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What makes it another experiment beyond its arguments."""
    environment: Mapping[str, str] = field(default_factory=dict)
    secret_environment: tuple[str, ...] = ()
    """Names of environment variables whose values lie in the run's Secret."""
    first_attempt_arguments: Mapping[str, str] = field(default_factory=dict)
    """Arguments that only the first attempt gets, such as a profiler that breaks a resumed run."""
    shuffles_data: bool = False
    """Whether each attempt gets a data seed of its own."""

    @property
    def jobset_name(self) -> str:
        """The JobSet's name; too long a one keeps its beginning and gets a hash."""
        name = f"{self.name}-{self.run}".lower().replace(".", "-")
        if len(name) <= JOBSET_NAME_MAX_LENGTH:
            return name
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        return f"{name[: JOBSET_NAME_MAX_LENGTH - 9].rstrip('-')}-{digest}"
