from __future__ import annotations

from google.protobuf import struct_pb2

from rehearsal.values import UNKNOWN, Secret, known, to_python, to_struct


def test_values_survive_the_wire_with_secrets_unwrapped() -> None:
    values = {"a": 1, "b": [True, "x"], "c": {"d": 1.5}, "u": UNKNOWN, "s": Secret({"k": "v"})}
    assert to_python(to_struct(values)) == {**values, "s": {"k": "v"}}


def test_a_missing_value_is_left_out() -> None:
    assert to_python(to_struct({"a": None, "b": {"c": None}})) == {"b": {}}


def test_an_output_without_a_value_is_unknown() -> None:
    struct = struct_pb2.Struct()
    struct.update({"a": {"4dabf18193072939515e22adb298388d": "d0e6a833031e9bbcd3f4e8bde6ca49a4"}})
    assert to_python(struct) == {"a": UNKNOWN}


def test_known_looks_into_blocks_and_lists() -> None:
    assert known({"a": [{"b": 1}]})
    assert not known({"a": [{"b": UNKNOWN}]})
