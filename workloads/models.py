"""The models that can make the whole round trip Hub -> MaxText -> fine-tuning -> Hub format.

One row for each model of MaxText 0.2.4 whose mapping tables work both ways with stacked layers and
text weights only. Sources: `maxtext/utils/globals.py` (hub ids), `checkpoint_conversion/utils`
(mappings) and the shapes of `configs/models/*.yml`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Model:
    """What the program has to know about one MaxText model."""

    name: str
    """MaxText's `model_name`."""
    hub_id: str
    """The repository MaxText converts when no other is given."""
    parameters: int
    """Text parameters; from MaxText's shape table, rounded unless counted exactly."""
    needs_override_model_architecture: bool = False
    """Whether the export stops with "Architecture mismatches" without that flag."""
    tensor_count: int | None = None
    """Tensors of the export, where they were counted."""
    embedding_shape: tuple[int, int] | None = None
    """Shape of the token embedding, where it was checked."""

    @property
    def bfloat16_bytes(self) -> int:
        """Size of the weights in bfloat16."""
        return self.parameters * 2


def _row(name: str, hub_id: str, billions: float) -> Model:
    return Model(name=name, hub_id=hub_id, parameters=round(billions * 1e9))


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model(
            name="gemma4-31b",
            hub_id="google/gemma-4-31b-it",
            parameters=30_697_345_340,
            # The Hub's configuration has moe_intermediate_size 704 where MaxText has -1.
            needs_override_model_architecture=True,
            tensor_count=832,
            embedding_shape=(262144, 5376),
        ),
        _row("gemma4-26b", "google/gemma-4-26b-a4b-it", 25.2),
        _row("gemma3-4b", "google/gemma-3-4b-it", 4.6),
        _row("gemma3-12b", "google/gemma-3-12b-it", 12),
        _row("gemma3-27b", "google/gemma-3-27b-it", 27),
        _row("gemma2-2b", "google/gemma-2-2b", 2.6),
        _row("gemma2-9b", "google/gemma-2-9b", 9.2),
        _row("gemma2-27b", "google/gemma-2-27b", 27.2),
        _row("qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B-Instruct", 1.8),
        _row("qwen2.5-7b", "Qwen/Qwen2.5-7B-Instruct", 7.6),
        _row("qwen2.5-14b", "Qwen/Qwen2.5-14B-Instruct", 14.8),
        _row("qwen3-0.6b", "Qwen/Qwen3-0.6B", 0.75),
        _row("qwen3-4b", "Qwen/Qwen3-4B", 4.4),
        _row("qwen3-4b-thinking-2507", "Qwen/Qwen3-4B-Thinking-2507", 4.4),
        _row("qwen3-8b", "Qwen/Qwen3-8B", 8.2),
        _row("qwen3-14b", "Qwen/Qwen3-14B", 14.8),
        _row("qwen3-32b", "Qwen/Qwen3-32B", 32.8),
        _row("qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B-Thinking-2507", 30.5),
        _row("llama3.1-8b", "meta-llama/Llama-3.1-8B", 8),
        _row("llama3.1-8b-Instruct", "meta-llama/Llama-3.1-8B-Instruct", 8),
        _row("llama3.1-70b", "meta-llama/Llama-3.1-70B", 70.6),
        _row("gpt-oss-20b", "unsloth/gpt-oss-20b-BF16", 20.9),
        _row("mixtral-8x7b", "mistralai/Mixtral-8x7B-Instruct-v0.1", 46.7),
    )
}

UNSUPPORTED: dict[str, str] = {
    "gemma4-e2b": "its layers cannot be stacked (scan_layers must be False)",
    "gemma4-e4b": "its layers cannot be stacked (scan_layers must be False)",
    "qwen3-vl-2b": "its MaxText model file turns multimodal weights on",
    "qwen3-vl-4b": "its MaxText model file turns multimodal weights on",
    "qwen3-vl-30b-a3b": "its layers cannot be stacked (scan_layers must be False)",
    "qwen3-omni-30b-a3b": "MaxText has no table to export it",
    "qwen3-480b-a35b": "MaxText's mapping table has it under another name",
    "llama3.1-70b-Instruct": "MaxText has no export mapping under this name; see llama3.1-70b",
    "mistral-7b": "MaxText has no mapping for it",
    "olmo3-7b": "MaxText has no table to export it",
    "olmo3-7b-pt": "MaxText has no table to export it",
    "olmo3-32b": "MaxText has no table to export it",
    "deepseek3-671b": "its published weights are fp8 and must be converted by hand first",
    "deepseek3.2-671b": "it needs another attention even for the conversion",
    "deepseek4-284b": "it needs another attention even for the conversion",
}


def find_model(name: str) -> Model:
    """Return the row of a MaxText model; raise ValueError with the reason when there is none."""
    if name in MODELS:
        return MODELS[name]
    reason = UNSUPPORTED.get(name, "it is not in the table of models that convert both ways")
    raise ValueError(f"{name} cannot be used: {reason}. Allowed are {', '.join(MODELS)}")
