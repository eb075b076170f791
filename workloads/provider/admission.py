"""Decide from the record alone whether a stage may run in its directory (no access to anything).

Nothing of the user's is overwritten, no two settings share a directory, and a second run in the
same place is turned away before it starts.
"""

from dataclasses import dataclass
from typing import Any

from workloads.provider import digest as digests
from workloads.provider.record import RECORD_NAME, Record


class RefusedError(Exception):
    """The stage must not run; the text says why and what to do instead."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be run: the decisive document, where, and for whom.

    `owner` names the stack that asks; `now` is RFC 3339 in UTC, like every time in a record.
    """

    directory: str
    document: dict[str, Any]
    owner: str
    now: str

    @property
    def digest(self) -> str:
        """The digest that a proof has to carry."""
        return digests.digest(self.document)

    @property
    def identity(self) -> str:
        """The identity that the directory has to have."""
        return digests.identity(self.document)

    @property
    def steps(self) -> int | None:
        """The number of training steps, or None for a stage without steps."""
        steps = self.document["settings"].get("steps")
        return None if steps is None else int(steps)


def proven_already(record: Record | None, wanted: Wanted) -> bool:
    """Whether the record proves exactly what is wanted, so that nothing has to run."""
    return (
        record is not None and record.proven is not None and record.proven.digest == wanted.digest
    )


def admit(record: Record | None, wanted: Wanted) -> None:
    """Return when the stage may run in its directory; raise RefusedError otherwise."""
    if record is None:
        return
    for kept in (record.proven, record.attempt):
        if kept is not None and digests.identity(kept.document) != wanted.identity:
            raise RefusedError(_other_identity(kept.document, wanted))
    committed = record.proven.outputs.get("committed_step") if record.proven else None
    check_steps(wanted.steps, committed, wanted.directory)
    attempt = record.attempt
    if attempt is None or attempt.state != "started" or attempt.owner == wanted.owner:
        return
    if attempt.ends_by and attempt.ends_by < wanted.now:
        return
    raise RefusedError(
        f"{wanted.directory} is in use: {attempt.owner} started this stage at {attempt.started}. "
        f"Wait for it (its own deadline ends it by {attempt.ends_by or 'no known time'}), or "
        f"choose another `run.name`. If that stack is gone, remove the record: "
        f"gcloud storage rm {wanted.directory}{RECORD_NAME}"
    )


def check_steps(steps: int | None, committed_step: int | None, directory: str) -> None:
    """Raise RefusedError when fewer steps are wanted than are already committed."""
    if steps is None or committed_step is None or steps >= committed_step:
        return
    raise RefusedError(
        f"`run.steps` is {steps}, but {directory} already holds step {committed_step}: a run "
        f"cannot be shortened. Set `run.steps` to {committed_step} or more, or choose a new "
        "`run.name`"
    )


def _other_identity(kept: Any, wanted: Wanted) -> str:
    changes = digests.changed_settings(kept["settings"], wanted.document["settings"])
    changes = [line for line in changes if not line.startswith("steps:")]
    changes += digests.changed_settings(_by_url(kept), _by_url(wanted.document))
    return refusal(wanted.directory, changes)


def refusal(directory: str, changes: list[str]) -> str:
    """Return the text that refuses a directory which belongs to other settings."""
    return (
        f"{directory} belongs to a run with other settings ({'; '.join(changes) or 'other stage'})"
        ". MaxText would resume it and mix the two. Choose a new `run.name` (for the base "
        "checkpoint a new `run.base`), or set the old values again; what is there stays untouched. "
        f"To give it up for good: gcloud storage rm --recursive {directory}"
    )


def _by_url(document: Any) -> dict[str, str]:
    return {f"input {read['url']}": read["digest"][:12] for read in document["reads"]}
