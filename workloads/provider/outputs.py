"""The outputs of a stage resource: its inputs plus what is proven or why it is not."""

from collections.abc import Mapping
from typing import Any

from workloads.provider import digest as digests
from workloads.provider.attempt import Ending
from workloads.provider.inputs import StageInputs
from workloads.provider.progress import Progress
from workloads.provider.proof import Proof
from workloads.provider.record import Proven

# What a re-run changes. A preview leaves these out, so that dependants see them as unknown.
COMPUTED = (
    "state",
    "proven_digest",
    "identity",
    "committed_step",
    "jobset_uid",
    "attempts",
    "started",
    "finished_at",
    "took_seconds",
    "figures",
    "object_count",
    "size_bytes",
    "image",
    "failure",
)
_NOTHING_PROVEN: Mapping[str, Any] = {
    "proven_digest": "",
    "committed_step": None,
    "jobset_uid": "",
    "attempts": 0,
    "started": "",
    "finished_at": "",
    "took_seconds": 0,
    "figures": {},
    "object_count": 0,
    "size_bytes": 0,
    "image": "",
}


def proven(inputs: Mapping[str, Any], record: Proven) -> dict[str, Any]:
    """Return the outputs of a proven stage, always from the record: restored or fresh, the same."""
    return {
        **inputs,
        **_NOTHING_PROVEN,
        **record.outputs,
        "state": "proven",
        "proven_digest": record.digest,
        "identity": record.identity,
        "failure": "",
    }


def unproven(
    inputs: Mapping[str, Any],
    prior: Mapping[str, Any] | None,
    state: str,
    failure: str,
    committed_step: int | None = None,
) -> dict[str, Any]:
    """Return the outputs of a stage that failed or was interrupted; an old result is kept.

    `proven_digest` stays that of the old result, so that the next `up` plans the stage again
    whatever a refresh does to the engine's own note of the failure. `committed_step` is the newest
    that was seen, None when nobody looked.
    """
    kept = {key: prior.get(key, value) for key, value in _NOTHING_PROVEN.items()} if prior else {}
    decisive = digests.document(inputs["stage"], inputs["settings"], inputs.get("reads") or [])
    newest = {} if committed_step is None else {"committed_step": committed_step}
    return {
        **inputs,
        **_NOTHING_PROVEN,
        **kept,
        **newest,
        "state": state,
        "identity": digests.identity(decisive),
        "failure": failure,
    }


def evidence(
    stage: StageInputs, proof: Proof, ending: Ending, progress: Progress, uid: str, attempts: int
) -> dict[str, Any]:
    """Return the part of the outputs that the record keeps; times are RFC 3339, sizes bytes."""
    return {
        "committed_step": proof.committed_step,
        "jobset_uid": uid,
        "attempts": attempts,
        "started": ending.started,
        "finished_at": ending.ended,
        "took_seconds": round(ending.running_seconds, 1),
        "figures": progress.figures(),
        "object_count": proof.object_count,
        "size_bytes": proof.size_bytes,
        "image": stage.image,
    }
