"""Decide in a preview whether a stage has to run, and show which setting is the reason (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workloads.provider import digest as digests
from workloads.provider.admission import RefusedError, check_steps, refusal
from workloads.provider.values import contains_unknown

# What is shown of a change: the cause, and what it makes of the JobSet. All else follows from
# them, and the engine puts the names of what is shown before the live line, which has little room.
_SHOWN = ("settings", "reads", "manifest")


@dataclass(frozen=True)
class Change:
    """One readable path that differs, and how: add, update or delete."""

    path: str
    kind: str


@dataclass(frozen=True)
class Verdict:
    """Whether the stage runs, and what to show for it; `state_only` when no input differs."""

    runs: bool
    changes: tuple[Change, ...] = ()


def compare(
    old_inputs: Mapping[str, Any], old_outputs: Mapping[str, Any], new: Mapping[str, Any]
) -> Verdict:
    """Return whether the stage runs again.

    It does when its digest is not the proven one, when it is not proven, or when what decides is
    not known yet. Operational changes alone (image, periods, time limits, labels) never run a
    proven stage: they are kept in the state and count from the next run on.
    """
    runs = contains_unknown([new.get("settings"), new.get("reads"), new.get("stage")])
    if not runs:
        wanted = digests.digest(_document(new))
        runs = old_outputs.get("state") != "proven" or old_outputs.get("proven_digest") != wanted
    if not runs:
        return Verdict(False)
    changes: list[Change] = []
    for key in _SHOWN:
        _walk(key, old_inputs.get(key), new.get(key), changes)
    return Verdict(True, tuple(changes) or (Change("state", "update"),))


def check_directory(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise RefusedError when the directory would get another identity (as far as it is known yet).

    `old` are the inputs of the last attempt. `steps` may differ; everything else may not.
    """
    if old.get("directory") != new.get("directory") or contains_unknown(new.get("settings")):
        return
    before = {key: value for key, value in old["settings"].items() if key != "steps"}
    after = {key: value for key, value in new["settings"].items() if key != "steps"}
    empty: list[Mapping[str, Any]] = []
    if digests.identity(digests.document(old["stage"], before, empty)) != digests.identity(
        digests.document(new["stage"], after, empty)
    ):
        raise RefusedError(refusal(new["directory"], digests.changed_settings(before, after)))
    reads = (old.get("reads") or [], new.get("reads") or [])
    if contains_unknown(list(reads)):
        return
    if digests.canonical(reads[0]) != digests.canonical(reads[1]):
        raise RefusedError(refusal(new["directory"], [f"input {read['url']}" for read in reads[1]]))


def check_lowered(outputs: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raise RefusedError when fewer steps are wanted than the directory has committed."""
    if outputs.get("directory") != new.get("directory") or contains_unknown(new.get("settings")):
        return
    known = not contains_unknown(new.get("reads"))
    # The proven result itself may always be asked for again, as after a failed raise.
    if known and digests.digest(_document(new)) == outputs.get("proven_digest"):
        return
    steps = (new.get("settings") or {}).get("steps")
    check_steps(steps, outputs.get("committed_step"), str(new.get("directory")))


def schedule_warning(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return what raising `steps` of a proven run means, or nothing when they are not raised."""
    if contains_unknown(new.get("settings")) or old.get("directory") != new.get("directory"):
        return ""
    before, after = old.get("committed_step"), (new.get("settings") or {}).get("steps")
    if before is None or after is None or after <= before:
        return ""
    return (
        f"{new['stage']} continues from step {before} to {after}: the cosine schedule is computed "
        f"anew for {after} steps, so the learning rate jumps up again, and the data starts over "
        "(MaxText does not skip what was seen). For one run with one schedule choose a new "
        "`run.name` instead"
    )


def _document(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return digests.document(inputs["stage"], inputs["settings"], inputs.get("reads") or [])


def _walk(path: str, old: Any, new: Any, changes: list[Change]) -> None:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            _walk(_joined(path, key), old.get(key), new.get(key), changes)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            _walk(f"{path}[{index}]", before, after, changes)
    elif contains_unknown(new) or digests.canonical(old) != digests.canonical(new):
        kind = "add" if old is None else "delete" if new is None else "update"
        changes.append(Change(path, kind))


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if key.replace("_", "").isalnum() else f'{path}["{key}"]'
