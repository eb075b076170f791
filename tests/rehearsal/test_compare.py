from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rehearsal.compare import EMBEDDING, _flipped, _layers, compare

if TYPE_CHECKING:
    import numpy
else:
    numpy = pytest.importorskip(
        "numpy", reason="without numpy: `pip install -r requirements-rehearsal.txt`"
    )

# bfloat16 values as their bits; the comparison looks at nothing else.
ONE = numpy.array([[0x3F80, 0xBF80]], numpy.uint16)


def test_same_bits_are_equal() -> None:
    found = compare({"a": ONE, EMBEDDING: ONE}, {"a": ONE.copy(), EMBEDDING: ONE.copy()})
    assert found.equal
    assert found.embedding_share_different == 0


@pytest.mark.parametrize("change", [1, -1, 0x8000])
def test_one_bit_in_one_tensor_is_a_difference(change: int) -> None:
    other = (ONE.astype(int) + numpy.array([[change, 0]])).astype(numpy.uint16)
    found = compare({"a": ONE}, {"a": other})
    assert found.different == ["a"]
    assert not found.equal_but_for_embedding


def test_other_shape_with_the_same_bytes_is_a_difference() -> None:
    assert compare({"a": ONE}, {"a": ONE.T}).different == ["a"]


def test_missing_and_unexpected_tensors_are_named() -> None:
    found = compare({"a": ONE, "b": ONE}, {"b": ONE, "c": ONE})
    assert (found.missing, found.unexpected, found.equal) == (["a"], ["c"], False)


@pytest.mark.parametrize(("ulps", "tolerated"), [(1, True), (2, False)])
def test_embedding_may_differ_by_one_unit_in_the_last_place(ulps: int, tolerated: bool) -> None:
    other = (ONE + numpy.array([[ulps, 0]])).astype(numpy.uint16)
    found = compare({EMBEDDING: ONE}, {EMBEDDING: other})
    assert found.embedding_most_ulps == ulps
    assert found.embedding_share_different == 0.5
    assert (found.equal, found.equal_but_for_embedding) == (False, tolerated)


def test_distance_crosses_zero() -> None:
    """The smallest positive and the smallest negative number are two apart, with zero between."""
    small, negative = numpy.uint16([[0x0001]]), numpy.uint16([[0x8001]])
    assert compare({EMBEDDING: small}, {EMBEDDING: negative}).embedding_most_ulps == 2


def test_scanned_blocks_become_layers_in_order() -> None:
    local = numpy.arange(2 * 10 * 5).reshape(2, 10, 5)
    layers = dict(_layers("local_layers", local))
    assert sorted(layers) == [layer for layer in range(60) if layer % 6 != 5]
    assert layers[6].tolist() == local[:, 1, 0].tolist()
    every_sixth = dict(_layers("global_layer", numpy.zeros((2, 10))))
    assert sorted(every_sixth) == list(range(5, 60, 6))


def test_kernels_have_their_outputs_first() -> None:
    query = numpy.arange(64 * 4 * 16).reshape(64, 4, 16)
    flipped = _flipped(query, "self_attn.q_proj.weight")
    assert flipped.shape == (64, 64)
    assert flipped[17, 3] == query[3, 1, 1]
    out = numpy.arange(4 * 16 * 8).reshape(4, 16, 8)
    assert _flipped(out, "self_attn.o_proj.weight").shape == (8, 64)
    assert _flipped(out, "self_attn.o_proj.weight")[5, 18] == out[1, 2, 5]
