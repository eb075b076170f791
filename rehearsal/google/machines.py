"""What a machine type brings to a node: memory and TPU chips."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# GiB for each vCPU, https://cloud.google.com/compute/docs/machine-resource
_GIB_PER_CPU: Final = {"standard": 4, "highmem": 8, "highcpu": 1}
_SHARED_CORE_GIB: Final = {"e2-micro": 1, "e2-small": 2, "e2-medium": 4}


@dataclass(frozen=True)
class TpuMachine:
    """A TPU host, https://cloud.google.com/tpu/docs/v6e."""

    accelerator: str
    chips: int
    memory_gib: int
    one_host_topology: str


TPU_MACHINES: Final = {
    "ct6e-standard-1t": TpuMachine("tpu-v6e-slice", 1, 176, "1x1"),
    "ct6e-standard-4t": TpuMachine("tpu-v6e-slice", 4, 720, "2x2"),
    "ct6e-standard-8t": TpuMachine("tpu-v6e-slice", 8, 1440, "2x4"),
}


def memory_gib(machine_type: str) -> int | None:
    """A machine type's memory, or None when there is no such type that the double knows."""
    if tpu := TPU_MACHINES.get(machine_type):
        return tpu.memory_gib
    if machine_type in _SHARED_CORE_GIB:
        return _SHARED_CORE_GIB[machine_type]
    shape = re.fullmatch(r"[a-z]\d[a-z]?-(standard|highmem|highcpu)-(\d+)", machine_type)
    return _GIB_PER_CPU[shape[1]] * int(shape[2]) if shape else None
