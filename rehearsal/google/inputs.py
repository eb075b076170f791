"""Which part of an object's properties are a program's inputs: names, refreshes and imports."""

from __future__ import annotations

import hashlib
from typing import Any

from rehearsal.google import schema
from rehearsal.google.kind import Kind
from rehearsal.plugin import Resource
from rehearsal.values import Values


def named(kind: Kind, resource: Resource, old: Values, new: Values, seed: bytes) -> Values:
    """The inputs with the name that the provider gives when the program gives none.

    A name once given is kept; `__defaults` tells which names are ours, as the real provider does.
    """
    name = kind.autoname
    if name is None or new.get(name) is not None:
        return new
    if name in old.get("__defaults", []):
        given = old[name]
    else:
        given = f"{resource.name}-{hashlib.sha256(seed).hexdigest()[:7]}".lower()
    return {**new, name: given, "__defaults": [name]}


def found(token: str, properties: Values) -> Values:
    """The inputs of an object that the stack does not know yet."""
    return {
        name: properties[name] for name in schema.kinds()[token]["inputs"] if name in properties
    }


def refreshed(token: str, inputs: Values, properties: Values) -> Values:
    """The inputs as the object shows them now: drift appears, what Google computed does not."""
    fields = schema.kinds()[token]["inputs"]
    current = _narrowed({"fields": fields, "type": "object"}, inputs, properties)
    kept = {name: value for name, value in inputs.items() if name.startswith("__")}
    return {**current, **kept}


def _narrowed(field: Values, wanted: Any, actual: Any) -> Any:
    if field["type"] == "object" and isinstance(wanted, dict) and isinstance(actual, dict):
        return {
            name: _narrowed(field["fields"].get(name, {"type": "any"}), value, actual[name])
            for name, value in wanted.items()
            if name in actual
        }
    same_length = isinstance(wanted, list) and isinstance(actual, list)
    if field["type"] == "array" and same_length and len(wanted) == len(actual):
        pairs = zip(wanted, actual, strict=True)
        return [_narrowed(field["items"], before, now) for before, now in pairs]
    return actual
