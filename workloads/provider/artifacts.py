"""Prove from the objects in the bucket what a stage has left; the log proves nothing.

MaxText can exit 0 early, prints its last step before the checkpoint is saved, and skips a
conversion whose directory exists, so only commit markers, metadata and headers count. On
`gs://` Orbax writes `commit_success.txt` last, per item and per step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workloads.provider.objects import ObjectInfo, ObjectStore, split_url
from workloads.provider.record import RECORD_NAME


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The result of looking at a stage's objects.

    `problems` is empty when everything is proven. `committed_step` is the newest committed one of
    a training stage. `decisive` are the objects that the proof rests on; count and size in bytes
    are of everything that belongs to the result.
    """

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    committed_step: int | None = None
    decisive: tuple[ObjectInfo, ...] = ()
    object_count: int = 0
    size_bytes: int = 0

    @property
    def complete(self) -> bool:
        """Whether the artifacts are all there."""
        return not self.problems


@dataclass
class Findings:
    """What one look collects; rules add to it and `proof` closes it."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    decisive: list[ObjectInfo] = field(default_factory=list)
    committed_step: int | None = None

    def need(self, objects: Mapping[str, ObjectInfo], name: str) -> bool:
        """Require an object that is there and not empty; tell whether it is."""
        found = objects.get(name)
        if found is None:
            self.problems.append(f"missing: {name}")
        elif found.size == 0:
            self.problems.append(f"empty: {name}")
        else:
            self.decisive.append(found)
            return True
        return False

    def proof(self, members: list[ObjectInfo]) -> Proof:
        """Return the proof, with `members` as the objects that belong to the result."""
        return Proof(
            problems=tuple(self.problems),
            warnings=tuple(self.warnings),
            committed_step=self.committed_step,
            decisive=tuple(self.decisive),
            object_count=len(members),
            size_bytes=sum(member.size for member in members),
        )


def prove(store: ObjectStore, wanted: Mapping[str, Any]) -> Proof:
    """Look at the artifacts that a stage was to leave and return what is proven.

    `wanted` is the stage's `artifacts` input: `kind` is orbax_base, orbax_training,
    safetensors or objects.
    Raises ValueError for another kind or a URL without its closing slash.
    """
    # Each kind has its own module; imported here because they use this one.
    from workloads.provider import orbax, safetensors

    kind = wanted["kind"]
    if kind == "orbax_base":
        return orbax.prove_base(store, wanted)
    if kind == "orbax_training":
        return orbax.prove_training(store, wanted)
    if kind == "safetensors":
        return safetensors.prove_export(store, wanted)
    if kind == "objects":
        return prove_objects(store, wanted)
    raise ValueError(
        f"artifacts.kind is {kind!r}; allowed are orbax_base, orbax_training, safetensors, objects"
    )


def root(wanted: Mapping[str, Any]) -> str:
    """Return the object prefix below which everything is this stage's."""
    prefix = split_url(wanted["url"])[1]
    if wanted["kind"] == "orbax_base":
        return prefix.removesuffix("items/")  # the step directory holds marker and metadata
    return prefix


def occupied(store: ObjectStore, wanted: Mapping[str, Any], limit: int = 5) -> list[str]:
    """Return names of data objects that already lie where the stage would write.

    Zero-byte objects are placeholders that folder views create; they are nobody's data.
    """
    names: list[str] = []
    for found in store.list(root(wanted)):
        if found.size > 0:
            names.append(found.name)
        if len(names) == limit:
            break
    return names


def changed_since(store: ObjectStore, kept: tuple[Mapping[str, Any], ...]) -> list[str]:
    """Return one line for each decisive object that is gone or was replaced since it was proven."""
    found: dict[str, ObjectInfo] = {}
    for folder in {str(entry["name"]).rpartition("/")[0] + "/" for entry in kept}:
        found.update({info.name: info for info in store.list(folder)})
    lines = []
    for entry in kept:
        now = found.get(entry["name"])
        if now is None:
            lines.append(f"gone: {entry['name']}")
        elif now.generation != entry["generation"]:
            lines.append(f"replaced: {entry['name']}")
    return lines


def drift(store: ObjectStore, kept: tuple[Mapping[str, Any], ...]) -> str:
    """Return the warning about a proven result that has changed since, empty if it has not.

    A warning and never a second run: what was deleted to save its storage must not cost a training.
    """
    changes = changed_since(store, kept)
    if not changes:
        return ""
    more = ", ..." if len(changes) > 3 else ""
    return (
        f"its result has changed since it was proven ({'; '.join(changes[:3])}{more}). It does not "
        "run again by itself; to run it again choose a new `run.name` (for the base checkpoint a "
        "new `run.base`)"
    )


def prove_objects(store: ObjectStore, wanted: Mapping[str, Any]) -> Proof:
    """Prove that every object in `names` is there and not empty; without names, any one object.

    For stages whose module has no commit marker of its own.
    """
    folder = split_url(wanted["url"])[1]
    objects = {info.name.removeprefix(folder): info for info in store.list(folder) if info.size > 0}
    objects.pop(RECORD_NAME, None)
    findings = Findings()
    for name in wanted.get("names") or list(objects):
        findings.need(objects, name)
    if not objects:
        findings.problems.append(f"no object below {wanted['url']}")
    return findings.proof(list(objects.values()))


def shown(objects: Mapping[str, ObjectInfo], limit: int = 6) -> str:
    """Return a short list of what was found, for a message."""
    names = sorted(objects)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return (", ".join(names[:limit]) + more) if names else "nothing"
