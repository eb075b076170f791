"""A bucket in memory, with generations and preconditions, and the objects MaxText leaves."""

import itertools
import json
import struct
from collections.abc import Iterator
from typing import Any

from workloads.provider.objects import ObjectInfo, PreconditionError


class MemoryStore:
    """An ObjectStore that also counts what was read."""

    def __init__(self, bucket: str = "bucket") -> None:
        self.bucket = bucket
        self.objects: dict[str, tuple[bytes, int]] = {}
        self.generations = itertools.count(1)
        self.bytes_read = 0

    def put(self, name: str, content: bytes | str | dict[str, Any] = b"x") -> None:
        if isinstance(content, dict):
            content = json.dumps(content)
        content = content.encode() if isinstance(content, str) else content
        self.objects[name] = (content, next(self.generations))

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        for name in sorted(self.objects):
            if name.startswith(prefix):
                found = self.stat(name)
                assert found is not None
                yield found

    def stat(self, name: str) -> ObjectInfo | None:
        if name not in self.objects:
            return None
        content, generation = self.objects[name]
        # Later generations are newer, as on the real store.
        return ObjectInfo(name, len(content), generation, f"2026-12-01T10:{generation:06d}")

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes | None:
        if name not in self.objects:
            return None
        content = self.objects[name][0]
        part = content[start:] if length is None else content[start : start + length]
        self.bytes_read += len(part)
        return part

    def write(self, name: str, content: bytes, if_generation: int) -> int:
        if self.objects.get(name, (b"", 0))[1] != if_generation:
            raise PreconditionError(name)
        self.put(name, content)
        return self.objects[name][1]


def put_base(store: MemoryStore, folder: str = "m/max-text-format/", **changed: Any) -> None:
    """A complete conversion, as MaxText leaves it with use_ocdbt=0."""
    step = f"{folder}0/"
    metadata = {
        "custom_metadata": {"scan_layers": True},
        "init_timestamp_nsecs": 1,
        "commit_timestamp_nsecs": 2,
        **changed,
    }
    store.put(f"{step}_CHECKPOINT_METADATA", metadata)
    store.put(f"{step}items/_METADATA", {"tree_metadata": {}, "use_ocdbt": False})
    array = f"{step}items/params.params.token_embedder.embedding/"
    store.put(f"{array}.zarray", {"shape": [262144, 5376], "dtype": "bfloat16"})
    store.put(f"{array}0.0", b"chunk")
    store.put(f"{step}items/commit_success.txt", "Checkpoint commit was successful")
    store.put(f"{step}commit_success.txt", "Checkpoint commit was successful")


def put_step(store: MemoryStore, step: int, folder: str = "m/trained/r/checkpoints/") -> None:
    """A committed training checkpoint, as Tunix leaves it."""
    base = f"{folder}{step}/"
    metadata = {"custom_metadata": {}, "init_timestamp_nsecs": 1, "commit_timestamp_nsecs": 2}
    store.put(f"{base}_CHECKPOINT_METADATA", metadata)
    for item in ("model_params", "optimizer_state"):
        store.put(f"{base}{item}/_METADATA", {"use_ocdbt": True})
        store.put(f"{base}{item}/manifest.ocdbt", b"manifest")
        store.put(f"{base}{item}/ocdbt.process_0/d/1", b"data")
        store.put(f"{base}{item}/commit_success.txt", "ok")
    store.put(f"{base}commit_success.txt", "ok")


def safetensors(tensors: dict[str, tuple[str, list[int]]]) -> bytes:
    """A whole safetensors file with zeros for data."""
    sizes = {"BF16": 2, "F32": 4}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    position = 0
    for name, (dtype, shape) in tensors.items():
        size = sizes[dtype]
        for length in shape:
            size *= length
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + size]}
        position += size
    encoded = json.dumps(header).encode()
    return struct.pack("<Q", len(encoded)) + encoded + bytes(position)


def put_export(store: MemoryStore, folder: str = "m/hf-trained/r/20/", shards: int = 3) -> None:
    """A complete export: tokenizer, config, shards, index last."""
    store.put(f"{folder}tokenizer.json", b"{}")
    store.put(f"{folder}config.json", b"{}")
    weight_map, total = {}, 0
    for number in range(1, shards + 1):
        name = f"model-{number:05d}-of-{shards:05d}.safetensors"
        tensors = {f"t{number}.{i}": ("BF16", [4, 2]) for i in range(2)}
        store.put(folder + name, safetensors(tensors))
        weight_map.update(dict.fromkeys(tensors, name))
        total += 2 * 16
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    store.put(f"{folder}model.safetensors.index.json", index)
