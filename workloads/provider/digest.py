"""Decide what makes a stage another experiment: a digest over its settings and what it reads.

Two digests describe a stage. The *digest* covers everything; the *identity* leaves `steps` out,
because more steps continue the same run in the same directory while any other change does not.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

# Settings that a later release added, with the value that earlier releases always used. A record
# written before the key existed counts as having that value, so an upgrade re-runs nothing. Add a
# row here together with the setting; never remove one.
DEFAULTS_OF_THEIR_TIME: Mapping[str, Any] = {}


def document(
    stage: str, settings: Mapping[str, Any], reads: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what decides about a stage's result, as it is kept in the record.

    `reads` names every input by URL and proven digest: converting again gives the same path but
    another content.
    """
    inputs = [{"url": read["url"], "digest": read["digest"]} for read in reads]
    return {"stage": stage, "settings": dict(settings), "reads": inputs}


def digest(
    decisive: Mapping[str, Any], defaults: Mapping[str, Any] = DEFAULTS_OF_THEIR_TIME
) -> str:
    """Return the digest of a document: equal documents, and only those, have equal digests."""
    return _hash(_relevant(decisive, defaults))


def identity(
    decisive: Mapping[str, Any], defaults: Mapping[str, Any] = DEFAULTS_OF_THEIR_TIME
) -> str:
    """Return the digest without `steps`: what must stay the same within one directory."""
    relevant = _relevant(decisive, defaults)
    relevant["settings"].pop("steps", None)
    return _hash(relevant)


def canonical(value: Any) -> str:
    """Return JSON that is the same for equal values, whatever way they travelled.

    Keys are sorted, absent and null are the same, and 1000.0 is 1000: the engine's wire format
    turns every number into a double.
    """
    return json.dumps(_normal(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def changed_settings(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return one line for each setting that differs: `learning_rate: 2e-05 -> 1e-05`."""
    before, after = _normal(old), _normal(new)
    keys = sorted(set(before) | set(after))
    return [
        f"{key}: {_shown(before.get(key))} -> {_shown(after.get(key))}"
        for key in keys
        if before.get(key) != after.get(key)
    ]


def _relevant(decisive: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    relevant: dict[str, Any] = _normal(decisive)
    settings = relevant.get("settings", {})
    relevant["settings"] = {
        key: value
        for key, value in settings.items()
        if key not in defaults or value != _normal(defaults[key])
    }
    return relevant


def _normal(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _normal(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _hash(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def _shown(value: Any) -> str:
    return "(not set)" if value is None else canonical(value)
