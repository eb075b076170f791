"""Convert between the engine's protobuf values and plain Python values.

The rest of the provider works on plain dictionaries; only this module and the plugin know how
the engine writes secrets, unknown values and numbers.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import struct_pb2

# Markers of the engine's wire format (pulumi/sdk/go/common/resource/plugin/rpc.go).
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"
_OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_UNKNOWN_TEXT = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # an unknown value of any type
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # unknown bool
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # unknown number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # unknown array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # unknown asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # unknown archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # unknown object
    }
)


class Unknown:
    """A value that the engine does not know yet, as it occurs in a preview."""

    def __repr__(self) -> str:
        """Show the value as a preview would."""
        return "<unknown>"


UNKNOWN = Unknown()


def contains_unknown(value: Any) -> bool:
    """Whether `value` or anything inside it is not known yet."""
    if isinstance(value, Unknown):
        return True
    if isinstance(value, Mapping):
        return any(contains_unknown(item) for item in value.values())
    return isinstance(value, list) and any(contains_unknown(item) for item in value)


def plain(struct: struct_pb2.Struct) -> tuple[dict[str, Any], set[str]]:
    """Return the struct as plain values and the names of the top-level keys that hold a secret.

    Whole numbers become int: the wire knows only doubles, and the Kubernetes API refuses `8.0`
    where it wants a whole number.
    """
    result: dict[str, Any] = {}
    secret_keys: set[str] = set()
    for key, value in struct.fields.items():
        result[key], secret = _plain(value)
        if secret:
            secret_keys.add(key)
    return result, secret_keys


def struct(values: Mapping[str, Any], secret_keys: set[str]) -> struct_pb2.Struct:
    """Return plain values as the engine's struct, with the named top-level keys kept secret."""
    result = struct_pb2.Struct()
    for key, value in values.items():
        wire = _wire(value)
        if key in secret_keys:
            fields = {_SIGNATURE: struct_pb2.Value(string_value=_SECRET), "value": wire}
            wire = struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
        result.fields[key].CopyFrom(wire)
    return result


def _plain(value: struct_pb2.Value) -> tuple[Any, bool]:
    kind = value.WhichOneof("kind")
    if kind == "bool_value":
        return value.bool_value, False
    if kind == "number_value":
        number = value.number_value
        return (int(number) if number.is_integer() else number), False
    if kind == "string_value":
        text = value.string_value
        return (UNKNOWN if text in _UNKNOWN_TEXT else text), False
    if kind == "list_value":
        items = [_plain(item) for item in value.list_value.values]
        return [item for item, _ in items], any(secret for _, secret in items)
    if kind == "struct_value":
        return _plain_struct(value.struct_value)
    return None, False


def _plain_struct(value: struct_pb2.Struct) -> tuple[Any, bool]:
    signature = value.fields.get(_SIGNATURE)
    if signature is not None and signature.string_value == _SECRET:
        return _plain(value.fields["value"])[0], True
    if signature is not None and signature.string_value == _OUTPUT:
        secret = value.fields["secret"].bool_value if "secret" in value.fields else False
        if "value" not in value.fields:
            return UNKNOWN, secret
        inner, inner_secret = _plain(value.fields["value"])
        return inner, secret or inner_secret
    items = {key: _plain(item) for key, item in value.fields.items()}
    return {key: item for key, (item, _) in items.items()}, any(s for _, s in items.values())


def _wire(value: Any) -> struct_pb2.Value:
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, int | float):
        return struct_pb2.Value(number_value=float(value))
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, Unknown):
        return struct_pb2.Value(string_value="04da6b54-80e4-46f7-96ec-b56ff0331ba9")
    if isinstance(value, Mapping):
        fields = {key: _wire(item) for key, item in value.items()}
        return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
    items = [_wire(item) for item in value]
    return struct_pb2.Value(list_value=struct_pb2.ListValue(values=items))
