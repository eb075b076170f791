"""Prove from the objects in the bucket what a stage has left; the log proves nothing.

MaxText can exit 0 early, prints its last step before the checkpoint is saved, and skips a
conversion whose directory exists, so only commit markers, metadata and headers count. On
`gs://` Orbax writes `commit_success.txt` last, per item and per step.
"""

from collections.abc import Mapping
from typing import Any

from workloads.provider import orbax, safetensors
from workloads.provider.objects import ObjectInfo, ObjectStore, split_url
from workloads.provider.proof import Findings, Proof
from workloads.provider.record import RECORD_NAME


def prove(store: ObjectStore, wanted: Mapping[str, Any]) -> Proof:
    """Look at the artifacts that a stage was to leave and return what is proven.

    `wanted` is the stage's `artifacts` input: `kind` is orbax_base, orbax_training,
    safetensors or objects.
    Raises ValueError for another kind or a URL without its closing slash.
    """
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
