"""Stage `hf-to-mt`: the base checkpoint's object tree.

What of a real 31B model the program can look at is as large as the real one: the embedding.
"""

import json
import uuid

from . import log
from .arguments import Arguments
from .objects import BucketError, Location, Store
from .program import cut_short, elapsed_minutes, exit_if_due, started
from .settings import Settings
from .trees import MARKER, Tree

# Gemma 4 31B: vocabulary and width of the real embedding (the recording is of a tiny model).
EMBEDDING_SHAPE = [262144, 5376]
EMBEDDING = "items/params.params.token_embedder.embedding/.zarray"


def to_maxtext(arguments: Arguments, told: Settings) -> None:
    """Write `0/` below the output directory, unless it is there: then it is kept without a word."""
    since = started()
    url = arguments.folder("base_output_directory")
    root = Location.parse(url)
    store = Store()
    _probe(store, root)
    exit_if_due(told, 1)
    _say("Lazy loading ENABLED. Initializing LazyHFLoader for: google/gemma-4-31b-it...")
    _say("Starting weight transformation...")
    step = root / "0"
    if not store.exists(step, MARKER):
        _save(store, step, arguments, told)
        _say("saved a checkpoint at step 0")
    _say(f"Elapse for checkpoint save: {elapsed_minutes(since)}")
    _say(f"Conversion complete. Checkpoint saved to {url}")
    _say(f"Overall Elapse: {elapsed_minutes(since)}")
    _say("Peak Memory: 0.02 GB")


def _save(store: Store, step: Location, arguments: Arguments, told: Settings) -> None:
    scan_layers = arguments.text("scan_layers", "True").lower() in ("true", "1")
    dtype = arguments.flags.get("save_dtype", "bfloat16")
    tree = Tree("base", step)
    tree.write(store, {EMBEDDING: _array(dtype)})
    if fault := told.fault("partial_checkpoint"):
        raise cut_short(fault)
    tree.commit(store, {"scan_layers": scan_layers})


def _array(dtype: str) -> str:
    """Return the embedding's Zarr v2 metadata."""
    rows, width = EMBEDDING_SHAPE
    document = {
        "chunks": [rows // 16, width],
        "compressor": {"id": "zstd", "level": 1},
        "dimension_separator": ".",
        "dtype": {"float32": "<f4"}.get(dtype, dtype),
        "fill_value": None,
        "filters": None,
        "order": "C",
        "shape": [rows, width],
        "zarr_format": 2,
    }
    return json.dumps(document, separators=(",", ":"))


def _probe(store: Store, root: Location) -> None:
    """Write and remove an object, as MaxText does before it downloads anything."""
    store.check_bucket(root.bucket)
    probe = Location(root.bucket, f"{root.prefix}.write_test_{uuid.uuid4().hex}")
    store.put(probe, "", b"write test")
    store.delete(probe)


def check_source(store: Store, url: str) -> None:
    """Raise BucketError unless there is a committed checkpoint item at `url`."""
    if not store.exists(Location.parse(url), MARKER):
        raise BucketError(f"ValueError: No valid Orbax checkpoint found at {url}")


def _say(text: str) -> None:
    """Write a line; this script of MaxText's does not use absl's prefix."""
    log.plain(f"INFO:absl:{text}")
