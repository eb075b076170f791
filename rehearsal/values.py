"""Property values as the engine sends them, turned into plain Python and back.

The signatures are those of Pulumi's wire format (sdk/go/common/resource in pulumi/pulumi).
"""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import struct_pb2

Values = dict[str, Any]
"""The properties of one resource: JSON values, UNKNOWN in previews, Secret in answers."""

_UNKNOWN_TEXT: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"
_OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"


class _Unknown(enum.Enum):
    """A value that only a real `up` will tell."""

    UNKNOWN = "unknown"


UNKNOWN: Final = _Unknown.UNKNOWN


@dataclass(frozen=True)
class Secret:
    """A value that the engine has to encrypt in the state and mask in its output."""

    value: Any


def to_python(struct: struct_pb2.Struct) -> Values:
    """The plain values of a message; secrets are unwrapped, whole numbers become int."""
    return {key: _from_value(value) for key, value in struct.fields.items()}


def _from_value(value: struct_pb2.Value) -> Any:
    match value.WhichOneof("kind"):
        case "string_value":
            text = value.string_value
            return UNKNOWN if text == _UNKNOWN_TEXT else text
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "bool_value":
            return value.bool_value
        case "list_value":
            return [_from_value(item) for item in value.list_value.values]
        case "struct_value":
            return _from_struct(to_python(value.struct_value))
    return None


def _from_struct(fields: Values) -> Any:
    signature = fields.get(_SIGNATURE)
    if signature == _SECRET:
        return fields["value"]
    if signature == _OUTPUT:
        return fields.get("value", UNKNOWN)
    return fields


def to_struct(values: Values) -> struct_pb2.Struct:
    """The message that carries these values; None is left out, as the engine does."""
    struct = struct_pb2.Struct()
    struct.update({key: _plain(value) for key, value in values.items() if value is not None})
    return struct


@functools.singledispatch
def _plain(value: Any) -> Any:
    return value


@_plain.register
def _(value: Secret) -> Any:
    return {_SIGNATURE: _SECRET, "value": _plain(value.value)}


@_plain.register
def _(value: _Unknown) -> Any:
    return _UNKNOWN_TEXT


@_plain.register
def _(value: dict) -> Any:  # type: ignore[type-arg]
    return {key: _plain(item) for key, item in value.items() if item is not None}


@_plain.register
def _(value: list) -> Any:  # type: ignore[type-arg]
    return [_plain(item) for item in value]


def known(value: Any) -> bool:
    """Whether a value, and everything in it, is known already."""
    if isinstance(value, dict):
        return all(known(item) for item in value.values())
    if isinstance(value, list):
        return all(known(item) for item in value)
    return value is not UNKNOWN
