"""How much memory and disk a model needs, so that a run that cannot fit never starts."""

from __future__ import annotations

from math import ceil

from workloads.models import Model

GIB = 2**30
# Weights, gradient and both Adam moments in float32.
TRAINING_BYTES_PER_PARAMETER = 16
# Share of a chip's memory that the state may take; activations and logits need the rest.
STATE_SHARE = 0.6


def conversion_memory_gib(model: Model) -> int:
    """Return the memory of a conversion in GiB.

    It holds every tensor in bfloat16 and up to three times the largest stacked one besides.
    """
    return ceil(model.bfloat16_bytes * 2 / GIB) + 16


def conversion_storage_gib(model: Model) -> int:
    """Return the local disk of a conversion in GiB: the Hub's files or four shards of the export.

    The Hub's files are a little larger than the text weights (vision tensors, tokenizer).
    """
    return ceil(model.bfloat16_bytes * 1.15 / GIB) + 16


def allocatable_storage_gib(disk_size_gb: int) -> float:
    """Return what pods may use of a GKE boot disk, in GiB.

    GKE keeps 10 % for eviction and the least of 50 %, 6 GiB + 35 % and 100 GiB for itself
    ("Plan GKE node sizes"); the image of the container takes about 15 GiB of the rest.
    """
    disk = disk_size_gb * 1e9 / GIB
    return disk - 0.1 * disk - min(0.5 * disk, 6 + 0.35 * disk, 100) - 15


def chips_for_training(model: Model, hbm_gb: int) -> int:
    """Return how many chips hold the training state with room for activations."""
    return ceil(model.parameters * TRAINING_BYTES_PER_PARAMETER / (STATE_SHARE * hbm_gb * 1e9))
