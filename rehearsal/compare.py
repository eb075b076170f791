"""Whether an exported model is what was trained, value by value.

Runs in the MaxText environment, where numpy, orbax and tensorstore live:

    python -m rehearsal.compare trained CHECKPOINT EXPORT  # a step and its export
    python -m rehearsal.compare base MODEL EXPORT  # a model and its way there and back

CHECKPOINT is `gs://.../<step>/model_params/`, MODEL and EXPORT are folders of safetensors files,
also `gs://`. Prints one JSON document and exits with 1 when the two differ by more than MaxText's
own arithmetic.
"""

# The packages below live in the MaxText environment, not in the project's.
# mypy: disable-error-code="import-not-found,import-untyped"

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rehearsal import tinymodel

EMBEDDING = "model.language_model.embed_tokens.weight"
# Width of the real Gemma 4 31B. MaxText multiplies the embedding by its square root on the way in,
# from a table of its own; on the way out it divides by the square root of the model's own width.
_REAL_WIDTH = 5376
# Names inside one layer: MaxText's and those of the exported model.
_IN_LAYER = {
    "pre_self_attention_norm.scale": "input_layernorm.weight",
    "post_self_attention_norm.scale": "post_attention_layernorm.weight",
    "pre_ffw_norm.scale": "pre_feedforward_layernorm.weight",
    "post_ffw_norm.scale": "post_feedforward_layernorm.weight",
    "self_attention.query.kernel": "self_attn.q_proj.weight",
    "self_attention.key.kernel": "self_attn.k_proj.weight",
    "self_attention.value.kernel": "self_attn.v_proj.weight",
    "self_attention.out.kernel": "self_attn.o_proj.weight",
    "self_attention.query_norm.scale": "self_attn.q_norm.weight",
    "self_attention.key_norm.scale": "self_attn.k_norm.weight",
    "mlp.wi_0.kernel": "mlp.gate_proj.weight",
    "mlp.wi_1.kernel": "mlp.up_proj.weight",
    "mlp.wo.kernel": "mlp.down_proj.weight",
    "layer_scalar": "layer_scalar",
}
_BLOCK = 6


@dataclass(frozen=True)
class Comparison:
    """How two sets of tensors differ."""

    tensors: int
    missing: list[str]
    unexpected: list[str]
    different: list[str]
    embedding_share_different: float
    embedding_most_ulps: int

    @property
    def equal(self) -> bool:
        """Return whether every tensor is there and bit-identical."""
        return not (self.missing or self.unexpected or self.different)

    @property
    def equal_but_for_embedding(self) -> bool:
        """Return whether only the embedding differs, by at most one unit in the last place."""
        others = [name for name in self.different if name != EMBEDDING]
        return not (self.missing or self.unexpected or others) and self.embedding_most_ulps <= 1


def compare(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Comparison:
    """Return how bfloat16 tensors differ, bit by bit."""
    both = [name for name in wanted if name in found]
    different = [
        name
        for name in both
        if wanted[name].shape != found[name].shape
        or wanted[name].tobytes() != found[name].tobytes()
    ]
    share, ulps = 0.0, 0
    if EMBEDDING in both and wanted[EMBEDDING].shape == found[EMBEDDING].shape:
        distance = abs(_ordered(wanted[EMBEDDING]) - _ordered(found[EMBEDDING]))
        share, ulps = float((distance > 0).mean()), int(distance.max())
    return Comparison(
        tensors=len(found),
        missing=[name for name in wanted if name not in found],
        unexpected=[name for name in found if name not in wanted],
        different=different,
        embedding_share_different=share,
        embedding_most_ulps=ulps,
    )


def exported(arrays: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the tensors that an export of these MaxText arrays must hold, in bfloat16.

    `arrays` has MaxText's names with dots, `decoder.` or `token_embedder.` first.
    """
    import ml_dtypes
    import numpy

    cast = {name: array.astype(ml_dtypes.bfloat16) for name, array in arrays.items()}
    factor = numpy.float32(tinymodel.SIZES["base_emb_dim"] ** 0.5)
    scaled = cast["token_embedder.embedding"].astype(numpy.float32) / factor
    yield EMBEDDING, scaled.astype(ml_dtypes.bfloat16)
    yield "model.language_model.norm.weight", cast["decoder.decoder_norm.scale"]
    for name, array in cast.items():
        parts = name.split(".")
        if parts[1] != "scanned_blocks" or ".".join(parts[3:]) not in _IN_LAYER:
            continue
        target = _IN_LAYER[".".join(parts[3:])]
        for layer, part in _layers(parts[2], array):
            yield f"model.language_model.layers.{layer}.{target}", _flipped(part, target)


def as_the_real_model(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return an exported base with its embedding divided by what the real model's export takes.

    The tiny model's own factor, the square root of 64, is a power of two: taking it back is exact.
    """
    import ml_dtypes
    import numpy

    own = numpy.float32(tinymodel.SIZES["base_emb_dim"] ** 0.5)
    inner = tensors[EMBEDDING].astype(numpy.float32) * own
    scaled = (inner / numpy.float32(_REAL_WIDTH**0.5)).astype(ml_dtypes.bfloat16)
    return {**tensors, EMBEDDING: scaled}


def _layers(kind: str, array: Any) -> Iterator[tuple[int, Any]]:
    """Yield layer number and array: axis 1 counts blocks, and for local layers axis 2 goes on."""
    for block in range(array.shape[1]):
        if kind == "global_layer":
            yield block * _BLOCK + _BLOCK - 1, array[:, block]
            continue
        for place in range(array.shape[2]):
            yield block * _BLOCK + place, array[:, block, place]


def _flipped(array: Any, target: str) -> Any:
    """Return a kernel as the exported model has it: outputs first, heads and head size merged."""
    if array.ndim == 1:
        return array
    inputs = array.shape[0]
    if target == "self_attn.o_proj.weight":
        inputs = math.prod(array.shape[:2])
    return array.reshape(inputs, -1).T


def _ordered(array: Any) -> Any:
    """Return bfloat16 values as whole numbers that count representable values in order."""
    import numpy

    bits = array.view(numpy.uint16).astype(numpy.int32)
    return numpy.where(bits < 0x8000, bits, 0x8000 - bits)


def read_checkpoint(path: str) -> dict[str, Any]:
    """Return the arrays of an Orbax item with their dotted names; random states are left out."""
    import numpy
    from orbax import checkpoint as ocp

    checkpointer = ocp.PyTreeCheckpointer()
    leaves = ocp.tree.to_flat_dict(checkpointer.metadata(path).item_metadata.tree)
    as_array = ocp.RestoreArgs(restore_type=numpy.ndarray)
    restore_args = dict.fromkeys(leaves, as_array)
    item = ocp.tree.from_flat_dict(leaves)
    restored = checkpointer.restore(
        path, item=item, restore_args=ocp.tree.from_flat_dict(restore_args)
    )
    arrays = {}
    for keys, array in ocp.tree.to_flat_dict(restored).items():
        # The last key of a trained item says that it is a value; a projection has that name too.
        name = ".".join(map(str, keys)).removeprefix("params.params.").removesuffix(".value")
        if "rngs" not in keys and name.startswith(("decoder.", "token_embedder.")):
            arrays[name] = array
    return arrays


def read_safetensors(folder: str) -> dict[str, Any]:
    """Return every tensor of the safetensors files in a folder; all of them are bfloat16."""
    from etils import epath

    tensors: dict[str, Any] = {}
    for file in sorted(epath.Path(folder).glob("*.safetensors")):
        tensors |= parse_safetensors(file.read_bytes())
    return tensors


def parse_safetensors(data: bytes) -> dict[str, Any]:
    """Return the tensors of one file; raise ValueError for any other type than bfloat16.

    The format is read here because safetensors' numpy part does not know bfloat16:
    eight bytes of header length, the header (JSON), the data.
    """
    import ml_dtypes
    import numpy

    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "BF16":
            raise ValueError(f"{name} is {entry['dtype']}; an export of the rehearsal is BF16")
        first, last = entry["data_offsets"]
        values = numpy.frombuffer(data[start + first : start + last], ml_dtypes.bfloat16)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def main() -> int:
    """Compare what the command line names; 0 when it agrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("trained", "base"))
    parser.add_argument("source", help="checkpoint item (trained) or model (base)")
    parser.add_argument("export", help="folder of the export")
    options = parser.parse_args()
    if options.what == "trained":
        wanted = dict(exported(read_checkpoint(options.source)))
        found = compare(wanted, read_safetensors(options.export))
        agrees = found.equal
    else:
        export = as_the_real_model(read_safetensors(options.export))
        found = compare(read_safetensors(options.source), export)
        agrees = found.equal_but_for_embedding
    agrees = agrees and found.tensors == tinymodel.TENSORS
    sys.stdout.write(json.dumps({"agrees": agrees, **asdict(found)}) + "\n")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
