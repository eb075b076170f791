"""Stage `mt-to-hf`: the exported model's object tree, its index last."""

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

from . import log
from .arguments import Arguments
from .conversion import check_source
from .objects import Location, Store
from .program import TrainerExit, cut_short, elapsed_minutes, exit_if_due, started
from .settings import Settings

# 61.4 GB of bfloat16 in shards of at most 3 GiB.
SHARDS = 20
_BYTES_PER_VALUE = {"BF16": 2, "F32": 4}


@cache
def recorded() -> dict[str, Any]:
    """Return the recorded export: `files` (name to size or text) and `tensors` (name to shape)."""
    document: dict[str, Any] = json.loads(
        (Path(__file__).parent / "recording" / "export.json").read_text()
    )
    return document


def to_huggingface(arguments: Arguments, told: Settings) -> None:
    """Write tokenizer, configuration, shards and, after every one of them, the index."""
    since = started()
    url = arguments.folder("base_output_directory")
    target, store = Location.parse(url), Store()
    store.check_bucket(target.bucket)
    check_source(store, arguments.folder("load_parameters_path"))
    _check_architecture(arguments)
    exit_if_due(told, 1)
    _say("to_huggingface.py:455", "Saving HuggingFace model...")
    for name, content in recorded()["files"].items():
        data = content.encode() if isinstance(content, str) else b"\0" * content
        store.put(target, name, data)
    dtype = "BF16" if arguments.text("weight_dtype", "float32") == "bfloat16" else "F32"
    _write_shards(store, target, dtype, told)
    _say(
        "to_huggingface.py:464",
        f"✅ MaxText model successfully saved in HuggingFace format at {url}",
    )
    _say("to_huggingface.py:581", f"Overall Elapse: {elapsed_minutes(since)}")
    _say("utils.py:815", "Peak Memory: 0.02 GB")


def _check_architecture(arguments: Arguments) -> None:
    """Refuse as MaxText does: its own table contradicts the Hub's configuration of this model."""
    model = arguments.text("model_name")
    if model == "gemma4-31b" and "override_model_architecture" not in arguments.flags:
        raise TrainerExit(
            1,
            "ValueError: Architecture mismatches between MaxText and HuggingFace configuration: "
            "moe_intermediate_size (HF=704 vs MaxText=-1)",
        )


def _write_shards(store: Store, target: Location, dtype: str, told: Settings) -> None:
    tensors: dict[str, list[int]] = recorded()["tensors"]
    names = list(tensors)
    per_shard = math.ceil(len(names) / SHARDS)
    weight_map, total = {}, 0
    missing = told.fault("missing_shard")
    for number in range(1, SHARDS + 1):
        part = names[(number - 1) * per_shard : number * per_shard]
        file = f"model-{number:05d}-of-{SHARDS:05d}.safetensors"
        data, size = _shard({name: tensors[name] for name in part}, dtype)
        if missing is None or missing.at_step != number:
            store.put(target, file, data)
            _say("utils.py:751", f"✅ Uploaded {file} to {target}/{file}")
        weight_map.update(dict.fromkeys(part, file))
        total += size
    if fault := told.fault("partial_checkpoint"):
        raise cut_short(fault)
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    store.put(target, "model.safetensors.index.json", json.dumps(index, indent=2).encode())


def _shard(tensors: dict[str, list[int]], dtype: str) -> tuple[bytes, int]:
    """Return a safetensors file of zeros with these tensors, and the bytes of its data."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in tensors.items():
        start, end = end, end + math.prod(shape) * _BYTES_PER_VALUE[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    # The format asks for a header that ends on a multiple of eight bytes.
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"\0" * end, end


def _say(source: str, text: str) -> None:
    log.info(source, text)
