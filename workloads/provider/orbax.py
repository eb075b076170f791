"""Rules for Orbax checkpoints (orbax 0.12 on gs://): markers, metadata, steps and the embedding."""

import json
import re
from collections.abc import Mapping
from typing import Any

from workloads.provider.objects import ObjectInfo, ObjectStore, split_url
from workloads.provider.proof import Findings, Proof, shown

_MARKER = "commit_success.txt"
_STEP_METADATA = "_CHECKPOINT_METADATA"
_TREE_METADATA = "_METADATA"
_JSON_LIMIT_BYTES = 4 * 1024 * 1024
_ZARR_TYPES = {"<f2": "float16", "<f4": "float32", "<f8": "float64"}


def prove_base(store: ObjectStore, wanted: Mapping[str, Any]) -> Proof:
    """Prove a converted base checkpoint at `.../0/items/`.

    `scan_layers` is compared with the checkpoint's own metadata; `embedding` (shape, dtype), when
    given, with the stored array's header.
    """
    items = split_url(wanted["url"])[1]
    step_folder = items.removesuffix("items/")
    if step_folder == items:
        raise ValueError(f"artifacts.url is {wanted['url']!r}; a base checkpoint ends in 0/items/")
    objects = {info.name: info for info in store.list(step_folder)}
    findings = Findings()
    metadata = _committed(store, objects, step_folder, findings)
    _item(store, objects, items, findings)
    _scan_layers(metadata, wanted.get("scan_layers"), findings)
    if wanted.get("embedding"):
        _embedding(store, objects, items, wanted["embedding"], findings)
    if findings.problems:
        findings.problems.append(f"found under {step_folder}: {shown(objects)}")
    return findings.proof(list(objects.values()))


def prove_training(store: ObjectStore, wanted: Mapping[str, Any]) -> Proof:
    """Prove that the newest committed checkpoint under `.../checkpoints/` is the last step."""
    folder = split_url(wanted["url"])[1]
    steps_wanted = int(wanted["steps"])
    objects = {info.name: info for info in store.list(folder)}
    steps = _steps(objects, folder)
    committed = [step for step in sorted(steps) if _is_committed(objects, folder, step)]
    findings = Findings(committed_step=committed[-1] if committed else None)
    partial = [step for step in sorted(steps) if step not in committed]
    if partial:
        found = ", ".join(str(step) for step in partial)
        findings.warnings.append(f"unfinished checkpoints under {folder}: {found} (may be removed)")
    if findings.committed_step != steps_wanted:
        findings.problems.append(
            _wrong_step(findings.committed_step, steps_wanted, objects, folder)
        )
        return findings.proof([])
    step_folder = f"{folder}{steps_wanted}/"
    _committed(store, objects, step_folder, findings)
    _item(store, objects, f"{step_folder}model_params/", findings)
    return findings.proof([info for name, info in objects.items() if name.startswith(step_folder)])


def _steps(objects: Mapping[str, ObjectInfo], folder: str) -> set[int]:
    # Only plain numbers: `1000.orbax-checkpoint-tmp` is a save that never ended.
    matches = (re.match(r"(0|[1-9]\d{0,11})/", name.removeprefix(folder)) for name in objects)
    return {int(found.group(1)) for found in matches if found}


def _is_committed(objects: Mapping[str, ObjectInfo], folder: str, step: int) -> bool:
    names = (f"{folder}{step}/{name}" for name in (_MARKER, _STEP_METADATA))
    return all(name in objects and objects[name].size > 0 for name in names)


def _wrong_step(
    committed: int | None, wanted: int, objects: Mapping[str, ObjectInfo], folder: str
) -> str:
    if committed is None:
        return f"no committed checkpoint under {folder}; found: {shown(objects)}"
    if committed < wanted:
        return (
            f"training ended early: the newest committed checkpoint is step {committed}, not "
            f"{wanted}. The data ran out or could not be read (MaxText then exits 0). Use more "
            f"data or epochs; to accept what there is, set `run.steps` to {committed}"
        )
    return f"the newest committed checkpoint is step {committed}, beyond the wanted {wanted}"


def _committed(
    store: ObjectStore, objects: Mapping[str, ObjectInfo], folder: str, findings: Findings
) -> dict[str, Any]:
    findings.need(objects, folder + _MARKER)
    if not findings.need(objects, folder + _STEP_METADATA):
        return {}
    metadata = _json(store, folder + _STEP_METADATA, findings)
    if metadata and not metadata.get("commit_timestamp_nsecs"):
        findings.problems.append(f"not committed: {folder}{_STEP_METADATA} has no commit time")
    return metadata


def _item(
    store: ObjectStore, objects: Mapping[str, ObjectInfo], folder: str, findings: Findings
) -> None:
    findings.need(objects, folder + _MARKER)
    if not findings.need(objects, folder + _TREE_METADATA):
        return
    tree = _json(store, folder + _TREE_METADATA, findings)
    if tree.get("use_ocdbt"):
        findings.need(objects, folder + "manifest.ocdbt")
    known = (_MARKER, _TREE_METADATA, "_sharding", "manifest.ocdbt", "array_metadatas/")
    data = [
        info
        for name, info in objects.items()
        if name.startswith(folder) and not name.removeprefix(folder).startswith(known)
    ]
    if not any(info.size for info in data):
        findings.problems.append(f"no array data under {folder}")


def _scan_layers(metadata: Mapping[str, Any], wanted: Any, findings: Findings) -> None:
    if wanted is None or not metadata:
        return
    found = (metadata.get("custom_metadata") or {}).get("scan_layers")
    if found is not None and bool(found) != bool(wanted):
        findings.problems.append(
            f"the checkpoint has scan_layers={found}, wanted is {wanted}; use a new `run.base`"
        )


def _embedding(
    store: ObjectStore,
    objects: Mapping[str, ObjectInfo],
    folder: str,
    wanted: Mapping[str, Any],
    findings: Findings,
) -> None:
    name = f"{folder}params.params.token_embedder.embedding/.zarray"
    if name not in objects:
        # Written as OCDBT the array has no header object of its own; its markers must do.
        if not any(entry.endswith("manifest.ocdbt") for entry in objects):
            findings.problems.append(f"missing: {name}")
        return
    if not findings.need(objects, name):
        return
    header = _json(store, name, findings)
    shape, dtype = header.get("shape"), str(header.get("dtype"))
    dtype = _ZARR_TYPES.get(dtype, dtype)
    if header and (shape != list(wanted["shape"]) or dtype != wanted["dtype"]):
        findings.problems.append(
            f"the embedding is {dtype}{shape}, wanted is {wanted['dtype']}{list(wanted['shape'])}: "
            "another model or precision lies there"
        )


def _json(store: ObjectStore, name: str, findings: Findings) -> dict[str, Any]:
    content = store.read(name, 0, _JSON_LIMIT_BYTES)
    try:
        parsed = json.loads(content or b"")
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        findings.problems.append(f"unreadable: {name}")
        return {}
    return parsed
