"""A Gemma 4 31B with 2.3 million parameters, and data to train it on.

All 60 layers are there, since MaxText's tables are keyed by them; only the widths are small. It
is made in the MaxText environment (`python -m rehearsal.tinymodel FOLDER`) from fixed seeds, so
two machines make the same bytes, and is served by `rehearsal.hub` in place of the real one.
"""

# The packages below live in the MaxText environment, not in the project's.
# mypy: disable-error-code="import-not-found,import-untyped"

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rehearsal.cache import cache_folder
from rehearsal.dialogues import Message, dialogues

# Part of the folder's name: raise it when anything that is written changes.
VERSION = "1"
MODEL = "models/google/gemma-4-31b-it"
DATASET = "datasets/HuggingFaceH4/ultrachat_200k"

# Keys of MaxText's model file; values chosen so that all 60 layers fit 4.7 MB.
SIZES = {
    "base_emb_dim": 64,
    "base_num_query_heads": 4,
    "base_num_kv_heads": 2,
    "base_mlp_dim": 128,
    "head_dim": 16,
    "global_head_dim": 32,
    "global_num_kv_heads": 1,
    "vocab_size": 512,
}
LAYERS = 60
TENSORS = 832
# Each sixth layer attends globally; it has no value projection (keys are values there).
_GLOBAL_EVERY = 6
# to_maxtext scales the embedding by the square root of the real model's width, from its own table.
_EMBEDDING_SIGMA = 5376**-0.5

_SPECIAL_TOKENS = ["<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>"]
_CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\n' "
    "+ message['content'] + '<turn|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|turn>model\n' }}{% endif %}"
)
# Files of each split, as many as the real data set's layout asks for at least.
_SPLITS = {"train_sft": 2, "test_sft": 1, "train_gen": 1, "test_gen": 1}
_TEST_ROWS = 20


def folder() -> Path:
    """Return the root of the local Hub's repositories; `make` fills it."""
    return cache_folder() / f"hub-{VERSION}"


def shapes() -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of the 832 text tensors, in the order of the checkpoint."""
    width, mlp = SIZES["base_emb_dim"], SIZES["base_mlp_dim"]
    yield "model.language_model.embed_tokens.weight", (SIZES["vocab_size"], width)
    yield "model.language_model.norm.weight", (width,)
    for layer in range(LAYERS):
        for name, shape in (*_attention(layer, width), *_rest(width, mlp)):
            yield f"model.language_model.layers.{layer}.{name}", shape


def _attention(layer: int, width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    is_global = layer % _GLOBAL_EVERY == _GLOBAL_EVERY - 1
    head = SIZES["global_head_dim" if is_global else "head_dim"]
    queries = SIZES["base_num_query_heads"] * head
    keys = SIZES["global_num_kv_heads" if is_global else "base_num_kv_heads"] * head
    yield "self_attn.q_proj.weight", (queries, width)
    yield "self_attn.k_proj.weight", (keys, width)
    if not is_global:
        yield "self_attn.v_proj.weight", (keys, width)
    yield "self_attn.o_proj.weight", (width, queries)
    yield "self_attn.q_norm.weight", (head,)
    yield "self_attn.k_norm.weight", (head,)


def _rest(width: int, mlp: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for position in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
        yield f"{position}_layernorm.weight", (width,)
    yield "layer_scalar", (1,)
    yield "mlp.gate_proj.weight", (mlp, width)
    yield "mlp.up_proj.weight", (mlp, width)
    yield "mlp.down_proj.weight", (width, mlp)


def make(root: Path) -> None:
    """Write both repositories below `root`; a half-written folder never carries its name."""
    partial = root.with_name(f"{root.name}.partial-{os.getpid()}")
    try:
        talks = dialogues()
        _write_model(partial / MODEL, talks)
        _write_dataset(partial / DATASET, talks)
        if not root.exists():
            partial.rename(root)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_model(target: Path, talks: list[list[Message]]) -> None:
    target.mkdir(parents=True)
    _write_tokenizer(target, talks)
    _write_weights(target)
    config = {"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4"}
    (target / "config.json").write_text(json.dumps(config))


def _write_tokenizer(target: Path, talks: list[list[Message]]) -> None:
    """Write a byte-level BPE tokenizer of the tiny vocabulary, with a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZES["vocab_size"],
        special_tokens=_SPECIAL_TOKENS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (message["content"] for talk in talks for message in talk)
    tokenizer.train_from_iterator(texts, trainer)
    names = {f"{name}_token": f"<{name}>" for name in ("bos", "eos", "pad", "unk")}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, chat_template=_CHAT_TEMPLATE, **names
    ).save_pretrained(target)


def _write_weights(target: Path) -> None:
    """Write two shards and their index, as the original repository has."""
    from safetensors.numpy import save_file

    weights = dict(_weights())
    names = list(weights)
    half = len(names) // 2
    weight_map = {}
    for number, part in enumerate((names[:half], names[half:]), 1):
        file = f"model-0000{number}-of-00002.safetensors"
        save_file({name: weights[name] for name in part}, target / file, {"format": "pt"})
        weight_map.update(dict.fromkeys(part, file))
    metadata = {"total_size": sum(weight.nbytes for weight in weights.values())}
    index = {"metadata": metadata, "weight_map": weight_map}
    (target / "model.safetensors.index.json").write_text(json.dumps(index))


def _weights() -> Iterator[tuple[str, Any]]:
    import ml_dtypes
    import numpy

    generator = numpy.random.default_rng(0)
    for name, shape in shapes():
        if len(shape) == 1:
            yield name, numpy.ones(shape, ml_dtypes.bfloat16)
            continue
        sigma = _EMBEDDING_SIGMA if "embed_tokens" in name else shape[1] ** -0.5
        values = generator.standard_normal(shape, dtype=numpy.float32) * sigma
        yield name, values.astype(ml_dtypes.bfloat16)


def _write_dataset(target: Path, talks: list[list[Message]]) -> None:
    """Write parquet files as ultrachat_200k has them, and the card that lists the splits."""
    import pyarrow
    from pyarrow import parquet

    (target / "data").mkdir(parents=True)
    for split, files in _SPLITS.items():
        rows = talks if split.startswith("train") else talks[:_TEST_ROWS]
        for number in range(files):
            part = rows[number::files]
            table = pyarrow.table(
                {
                    "prompt": [talk[0]["content"] for talk in part],
                    "prompt_id": [f"{split}-{number}-{row}" for row in range(len(part))],
                    "messages": part,
                }
            )
            parquet.write_table(
                table, target / "data" / f"{split}-{number:05d}-of-{files:05d}.parquet"
            )
    card = ["---", "configs:", "- config_name: default", "  data_files:"]
    card += [f"  - split: {split}\n    path: data/{split}-*" for split in _SPLITS]
    (target / "README.md").write_text("\n".join([*card, "---", ""]))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
