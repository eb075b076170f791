"""What GKE leaves to pods on a machine type.

Formulas: https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes (reserved memory,
CPU and ephemeral storage). The scheduler refuses here what it would refuse there.
"""

from __future__ import annotations

import re

from rehearsal.cloud.model import NodePool

# Chips' machine types do not name their vCPUs: https://cloud.google.com/tpu/docs/v6e
_TPU_CPUS = {"ct6e-standard-1t": 44, "ct6e-standard-4t": 180, "ct6e-standard-8t": 180}
_ACCELERATORS = {
    "ct6e": "tpu-v6e-slice",
    "ct5lp": "tpu-v5-lite-podslice",
    "ct5p": "tpu-v5p-slice",
}
_CPU_TIERS = ((1, 0.06), (1, 0.01), (2, 0.005))  # cores, share; 0.0025 above
_MEMORY_TIERS = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06))  # GiB, share; 0.02 above
_EVICTION_GIB = 0.1


def cpus(machine_type: str) -> int:
    """Return the vCPUs of a machine type; its last number names them, except for TPU hosts."""
    if machine_type in _TPU_CPUS:
        return _TPU_CPUS[machine_type]
    number = re.search(r"-(\d+)$", machine_type)
    return int(number.group(1)) if number else 2


def accelerator(machine_type: str) -> str | None:
    """Return the value of the label `cloud.google.com/gke-tpu-accelerator`, if it is a TPU host."""
    return _ACCELERATORS.get(machine_type.partition("-")[0])


def capacity(pool: NodePool) -> dict[str, str]:
    """Return what a host of the pool has, as in a Node's `status.capacity`."""
    return _quantities(pool, cpus(pool.machine_type), pool.memory_gib, pool.disk_size_gb)


def allocatable(pool: NodePool) -> dict[str, str]:
    """Return what a host of the pool gives to pods, as in a Node's `status.allocatable`."""
    cores = cpus(pool.machine_type)
    memory_gib = pool.memory_gib - _reserved(pool.memory_gib, _MEMORY_TIERS, 0.02) - _EVICTION_GIB
    disk_gb = pool.disk_size_gb * 0.9 - min(100, max(0.35 * pool.disk_size_gb, 6) * 0.5)
    return _quantities(pool, cores - _reserved(cores, _CPU_TIERS, 0.0025), memory_gib, disk_gb)


def _reserved(amount: float, tiers: tuple[tuple[int, float], ...], above: float) -> float:
    reserved = 0.0
    for size, share in tiers:
        part = min(amount, size)
        reserved += part * share
        amount -= part
    return reserved + amount * above


def _quantities(pool: NodePool, cores: float, memory_gib: float, disk_gb: float) -> dict[str, str]:
    quantities = {
        "cpu": f"{int(cores * 1000)}m",
        "memory": f"{int(memory_gib * 1024 * 1024)}Ki",
        "ephemeral-storage": str(int(disk_gb * 10**9)),
        "pods": "110",
    }
    if pool.chips_per_host:
        quantities["google.com/tpu"] = str(pool.chips_per_host)
    return quantities
