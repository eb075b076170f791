from __future__ import annotations

from workloads.models import MODELS, UNSUPPORTED


def test_no_model_is_both_supported_and_refused() -> None:
    assert not MODELS.keys() & UNSUPPORTED.keys()


def test_the_guides_model_is_counted_exactly() -> None:
    model = MODELS["gemma4-31b"]
    assert model.hub_id == "google/gemma-4-31b-it"
    assert (model.parameters, model.tensor_count) == (30_697_345_340, 832)
    assert model.bfloat16_bytes == 61_394_690_680


def test_one_model_alone_needs_its_architecture_overridden() -> None:
    needy = [name for name, model in MODELS.items() if model.needs_override_model_architecture]
    assert needy == ["gemma4-31b"]
