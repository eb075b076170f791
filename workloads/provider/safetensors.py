"""Rules for an export in Hugging Face's format: index last, every shard whole, tensors as wanted.

The header of a safetensors file is an 8-byte little-endian length and that many bytes of JSON
with dtype, shape and data offsets of each tensor
(https://huggingface.co/docs/safetensors/index#format). A few KB per shard tell whether it is whole.
"""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import prod
from typing import Any

from workloads.provider.objects import ObjectInfo, ObjectStore, split_url
from workloads.provider.proof import Findings, Proof, shown

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_FIRST_READ_BYTES = 16 * 1024
# The format itself allows no longer header.
_HEADER_LIMIT_BYTES = 100 * 1000 * 1000
_INDEX_LIMIT_BYTES = 64 * 1024 * 1024
_PARALLEL_READS = 8
_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1,
    "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip
_NAMES = {"bfloat16": "BF16", "float32": "F32", "float16": "F16", "float64": "F64"}


@dataclass
class Shard:
    """What a shard's header says: dtype of each tensor, bytes of data, what is wrong with it."""

    dtypes: dict[str, str] = field(default_factory=dict)
    data_bytes: int = 0
    problem: str = ""


def prove_export(store: ObjectStore, wanted: Mapping[str, Any]) -> Proof:
    """Prove an export: `tensor_count` (None: any) tensors of `dtype`, config and tokenizer."""
    folder = split_url(wanted["url"])[1]
    everything = {info.name.removeprefix(folder): info for info in store.list(folder)}
    objects = {name: info for name, info in everything.items() if "/" not in name}
    findings = Findings()
    if _INDEX in objects:
        shards = _sharded(store, folder, objects, findings)
    elif _SINGLE in objects:
        findings.need(objects, _SINGLE)
        shards = _read_shards(store, folder, [objects[_SINGLE]])
    else:
        findings.problems.append(f"neither {_INDEX} nor {_SINGLE}; found: {shown(everything)}")
        return findings.proof([])
    findings.problems += [
        f"{name}: {shard.problem}" for name, shard in shards.items() if shard.problem
    ]
    _tensors(shards, wanted, findings)
    _companions(objects, findings)
    return findings.proof(list(objects.values()))


def parse_header(header: bytes, object_bytes: int) -> Shard:
    """Judge a header against the size of its object; any input gives a verdict, never an exception.

    `header` is the JSON after the length field; `object_bytes` the size of the whole file.
    """
    shard = Shard()
    try:
        entries = json.loads(header)
        spans = []
        for name, entry in entries.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            size = prod(entry["shape"]) * _BYTES[entry["dtype"]]
            if any(length < 0 for length in entry["shape"]):
                raise ValueError("negative length")
            if not 0 <= begin <= end or end - begin != size:
                shard.problem = f"tensor {name} has {end - begin} bytes, its shape needs {size}"
                return shard
            spans.append((begin, end))
            shard.dtypes[name] = entry["dtype"]
        position = 0
        for begin, end in sorted(spans):
            if begin != position:
                shard.problem = f"its tensors leave a gap or overlap at byte {position}"
                return shard
            position = end
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        shard.problem = "its header is damaged"
        return shard
    if not shard.dtypes:
        shard.problem = "it holds no tensor"
        return shard
    shard.data_bytes = position
    expected = 8 + len(header) + position
    if expected != object_bytes:
        shard.problem = f"it has {object_bytes} bytes, its header says {expected}"
    return shard


def _sharded(
    store: ObjectStore, folder: str, objects: Mapping[str, ObjectInfo], findings: Findings
) -> dict[str, Shard]:
    findings.need(objects, _INDEX)
    try:
        index = json.loads(store.read(folder + _INDEX, 0, _INDEX_LIMIT_BYTES) or b"")
        weight_map = {str(k): str(v) for k, v in index["weight_map"].items()}
        total_size = index.get("metadata", {}).get("total_size")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        findings.problems.append(f"unreadable: {_INDEX}")
        return {}
    names = sorted(set(weight_map.values()))
    present = [objects[name] for name in names if findings.need(objects, name)]
    late = [i.name.removeprefix(folder) for i in present if i.updated > objects[_INDEX].updated]
    if late:
        findings.problems.append(
            f"{_INDEX} is older than {', '.join(late[:3])}: it is left from an earlier export"
        )
    shards = _read_shards(store, folder, present)
    _compare_index(weight_map, shards, total_size, findings)
    left_over = [n for n in objects if n.endswith(".safetensors") and n not in names]
    if left_over:
        findings.warnings.append(f"not part of this export: {', '.join(sorted(left_over)[:3])}")
    return shards


def _compare_index(
    weight_map: Mapping[str, str], shards: Mapping[str, Shard], total_size: Any, findings: Findings
) -> None:
    whole = {name: shard for name, shard in shards.items() if not shard.problem}
    for name, shard in whole.items():
        promised = {tensor for tensor, file in weight_map.items() if file == name}
        if promised != set(shard.dtypes):
            findings.problems.append(f"{name}: its tensors are not those that the index names")
    data_bytes = sum(shard.data_bytes for shard in whole.values())
    if len(whole) == len(set(weight_map.values())) and total_size not in (None, data_bytes):
        findings.problems.append(f"the index says {total_size} bytes, the shards hold {data_bytes}")


def _read_shards(store: ObjectStore, folder: str, shards: list[ObjectInfo]) -> dict[str, Shard]:
    if not shards:
        return {}
    with ThreadPoolExecutor(max_workers=min(_PARALLEL_READS, len(shards))) as pool:
        found = list(pool.map(lambda info: _read_shard(store, info), shards))
    return {
        info.name.removeprefix(folder): shard for info, shard in zip(shards, found, strict=True)
    }


def _read_shard(store: ObjectStore, info: ObjectInfo) -> Shard:
    start = store.read(info.name, 0, min(_FIRST_READ_BYTES, max(info.size, 1))) or b""
    if len(start) < 8:
        return Shard(problem="it is too short to have a header")
    length = int.from_bytes(start[:8], "little")
    if length > min(info.size - 8, _HEADER_LIMIT_BYTES):
        return Shard(problem=f"its header claims {length} bytes of {info.size}")
    header = start[8 : 8 + length]
    if len(header) < length:
        header += store.read(info.name, len(start), length - len(header)) or b""
    return parse_header(header, info.size)


def _tensors(shards: Mapping[str, Shard], wanted: Mapping[str, Any], findings: Findings) -> None:
    if any(shard.problem for shard in shards.values()):
        return
    dtypes = {name: dtype for shard in shards.values() for name, dtype in shard.dtypes.items()}
    count = wanted.get("tensor_count")
    if count is not None and len(dtypes) != count:
        findings.problems.append(f"the export has {len(dtypes)} tensors, the model has {count}")
    dtype = wanted.get("dtype")
    if dtype is not None:
        other = sorted(n for n, found in dtypes.items() if found != _NAMES.get(dtype, dtype))
        if other:
            findings.problems.append(
                f"{len(other)} tensors are not {dtype}, first {other[0]} ({dtypes[other[0]]})"
            )


def _companions(objects: Mapping[str, ObjectInfo], findings: Findings) -> None:
    findings.need(objects, "config.json")
    tokenizers = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json")
    if not any(name in objects and objects[name].size > 0 for name in tokenizers):
        findings.problems.append("missing: tokenizer.json")
