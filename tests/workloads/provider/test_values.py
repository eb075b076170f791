"""The engine's wire format and plain values."""

import json

from google.protobuf import json_format, struct_pb2
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi.runtime import rpc

from workloads.provider import values

leaves = st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(max_size=10)
trees = leaves | st.lists(leaves, max_size=2) | st.dictionaries(st.text(max_size=3), leaves)


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=5), trees, max_size=4))
def test_plain_values_survive_the_wire(content: dict[str, object]) -> None:
    secret = set(list(content)[:1])
    assert values.plain(values.struct(content, secret)) == (content, secret)


def test_whole_numbers_are_whole_in_a_manifest() -> None:
    wire = json_format.ParseDict({"completions": 8, "rate": 0.5}, struct_pb2.Struct())
    assert json.dumps(values.plain(wire)[0], sort_keys=True) == '{"completions": 8, "rate": 0.5}'


def test_the_sdks_own_markers_are_understood() -> None:
    secret = {rpc._special_sig_key: rpc._special_secret_sig, "value": "s"}
    output = {rpc._special_sig_key: rpc._special_output_value_sig, "secret": True}
    known = {**output, "secret": False, "value": "v", "dependencies": []}
    wire = json_format.ParseDict(
        {"a": secret, "b": rpc.UNKNOWN, "c": output, "d": known, "e": {"deep": secret}},
        struct_pb2.Struct(),
    )
    plain, secret_keys = values.plain(wire)
    assert plain["a"] == "s"
    assert plain["d"] == "v"
    assert values.contains_unknown(plain["b"])
    assert values.contains_unknown({"list": [plain["c"]]})
    assert not values.contains_unknown(plain["d"])
    assert secret_keys == {"a", "c", "e"}
