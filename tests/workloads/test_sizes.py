from __future__ import annotations

import pytest

from workloads.models import MODELS
from workloads.sizes import (
    allocatable_storage_gib,
    chips_for_training,
    conversion_memory_gib,
    conversion_storage_gib,
)

GEMMA = MODELS["gemma4-31b"]


@pytest.mark.parametrize(("hbm_gb", "chips"), [(32, 26), (16, 52)])
def test_chips_hold_sixteen_bytes_for_each_parameter_and_the_activations(
    hbm_gb: int, chips: int
) -> None:
    assert chips_for_training(GEMMA, hbm_gb) == chips


def test_a_conversion_of_the_guides_model_fits_a_host_of_256_gb_and_no_smaller_than_128() -> None:
    assert 128 <= conversion_memory_gib(GEMMA) <= 240


def test_the_hubs_63_gb_fit_beside_the_image() -> None:
    assert conversion_storage_gib(GEMMA) * 2**30 > 63e9
    assert conversion_storage_gib(GEMMA) < allocatable_storage_gib(300)


def test_gke_keeps_more_than_half_of_a_small_disk() -> None:
    """100 GB leaves 45 GiB in GKE's own example, less the image."""
    assert allocatable_storage_gib(100) == pytest.approx(45 - 15, abs=2)
