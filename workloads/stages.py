"""The stages of a fine-tuning run, in order: the guide's three commands.

To add a stage, add its path and one `Stage(...)` to the tuple; the order of the tuple is the order
of the run.
"""

from __future__ import annotations

from infra.config import ClusterConfig
from workloads.config import RunConfig
from workloads.stage import Placement, Stage

# The guide's flags of the training on v6e, from MaxText's own benchmark recipes.
LIBTPU_FLAGS = (
    "--xla_tpu_scoped_vmem_limit_kib=61440"
    " --xla_tpu_bf16_emission_mode=NATIVE_EMISSION"
    " --xla_tpu_enable_sparse_core_collective_offload_all_reduce=true"
    " --xla_tpu_use_single_sparse_core_for_all_gather_offload=true"
)
# Hosts that pull the image minutes after the first must still find the others waiting.
REGISTRATION_TIMEOUT_SECONDS = 1800
# MaxText's own defaults (post_train/sft.yml, base.yml): writing one down is no new experiment.
DEFAULT_LEARNING_RATE = 2e-5
DEFAULT_MAX_TARGET_LENGTH = 2048


def finetune_stages(run: RunConfig, place: ClusterConfig) -> tuple[Stage, ...]:
    """Return the stages of the run in order."""
    model = run.model_name
    home = f"gs://{place.bucket}/{model.name}/"
    base = f"{home}{run.base_directory}/"
    trained = f"{home}trained/{run.name}/"
    exported = f"{home}hf-trained/{run.name}/{run.steps}/"
    weights = f"{trained}checkpoints/{run.steps}/model_params/"
    return (
        Stage(
            name="hf-to-mt",
            run=run.base_directory.replace("max-text-format", model.name),
            module="maxtext.checkpoint_conversion.to_maxtext",
            arguments={
                "model_name": model.name,
                "base_output_directory": base,
                "scan_layers": "True",
                "use_multimodal": "False",
                "skip_jax_distributed_system": "true",
                "checkpoint_storage_use_zarr3": "0",
                "checkpoint_storage_use_ocdbt": "0",
                "hardware": "cpu",
            },
            flags=("--lazy_load_tensors=True", *hub_flags(run)),
            directory=base,
            url=f"{base}0/items/",
            artifacts={
                "kind": "orbax_base",
                "url": f"{base}0/items/",
                "scan_layers": True,
                "embedding": embedding(run),
            },
            timeout_minutes=run.convert_timeout_minutes,
        ),
        Stage(
            name="sft",
            run=run.name,
            module="maxtext.trainers.post_train.sft.train_sft",
            arguments={
                "run_name": run.name,
                "base_output_directory": f"{home}trained/",
                "model_name": model.name,
                "load_parameters_path": f"{base}0/items/",
                "dataset_type": "hf",
                **data_arguments(run),
                **tokenizer_argument(run),
                "per_device_batch_size": f"{run.per_device_batch_size:g}",
                "steps": str(run.steps),
                "checkpoint_storage_use_zarr3": "0",
                "checkpoint_storage_use_ocdbt": "0",
                "skip_jax_distributed_system": "False",
                "checkpoint_period": str(run.checkpoint_every),
                "jax_cache_dir": f"{home}jax-cache/",
                "jax_distributed_initialization_timeout": str(REGISTRATION_TIMEOUT_SECONDS),
                **run.overrides,
            },
            settings={
                "global_batch_size": run.global_batch_size(place.chips),
                "steps": run.steps,
                "learning_rate": run.learning_rate or DEFAULT_LEARNING_RATE,
                "max_target_length": run.max_target_length or DEFAULT_MAX_TARGET_LENGTH,
            },
            environment={
                "JAX_PLATFORMS": "tpu,cpu",
                "ENABLE_PJRT_COMPATIBILITY": "true",
                "JAX_TRACEBACK_FILTERING": "off",
                "LIBTPU_INIT_ARGS": LIBTPU_FLAGS,
                **run.env,
            },
            secret_environment=tuple(run.secret_env),
            first_attempt_arguments={"profiler": "xplane"} if run.profiler else {},
            shuffles_data=True,
            directory=trained,
            url=weights,
            reads=("hf-to-mt",),
            artifacts={
                "kind": "orbax_training",
                "url": f"{trained}checkpoints/",
                "steps": run.steps,
            },
            timeout_minutes=run.sft_timeout_minutes,
            placement=Placement.SLICE,
        ),
        Stage(
            name="mt-to-hf",
            run=run.name,
            module="maxtext.checkpoint_conversion.to_huggingface",
            arguments={
                "model_name": model.name,
                "load_parameters_path": weights,
                "base_output_directory": exported,
                **export_arguments(run),
            },
            flags=export_flags(run),
            directory=exported,
            url=exported,
            reads=("sft",),
            artifacts={
                "kind": "safetensors",
                "url": exported,
                "tensor_count": model.tensor_count,
                "dtype": run.export_dtype.value,
            },
            timeout_minutes=run.convert_timeout_minutes,
        ),
    )


def hub_flags(run: RunConfig) -> tuple[str, ...]:
    """Return the flags of a base other than MaxText's default one."""
    flags: list[str] = []
    if run.hf_model_path is not None:
        flags.append(f"--hf_model_path={run.hf_model_path}")
    if run.revision is not None:
        flags.append(f"--revision={run.revision}")
    if run.save_dtype != "bfloat16":
        flags.append(f"--save_dtype={run.save_dtype.value}")
    return tuple(flags)


def export_arguments(run: RunConfig) -> dict[str, str]:
    """Return the arguments of every export: on one host's processors, text only, as trained."""
    return {
        "skip_jax_distributed_system": "true",
        "hardware": "cpu",
        "scan_layers": "True",
        "use_multimodal": "False",
        "weight_dtype": run.export_dtype.value,
    }


def export_flags(run: RunConfig) -> tuple[str, ...]:
    """Return where the tokenizer comes from, and the flag without which some exports stop."""
    flags: list[str] = []
    if run.hf_model_path is not None:
        flags.append(f"--hf_model_path={run.hf_model_path}")
    if run.model_name.needs_override_model_architecture:
        flags.append("--override_model_architecture")
    return tuple(flags)


def tokenizer_argument(run: RunConfig) -> dict[str, str]:
    """Return the tokenizer of a base other than MaxText's default one."""
    return {} if run.hf_model_path is None else {"tokenizer_path": run.hf_model_path}


def data_arguments(run: RunConfig) -> dict[str, str]:
    """Return the arguments of the data and the optimizer that the user has chosen."""
    columns = run.train_data_columns
    chosen = {
        "hf_path": run.hf_path,
        "hf_name": run.hf_name,
        "hf_data_dir": run.hf_data_dir,
        "hf_train_files": run.hf_train_files,
        "train_split": run.train_split,
        "train_data_columns": None if columns is None else str(list(columns)),
        "learning_rate": None if run.learning_rate is None else repr(run.learning_rate),
        "max_target_length": None if run.max_target_length is None else str(run.max_target_length),
    }
    # MaxText refuses a key with an empty value, so what is not chosen is left out.
    return {key: value for key, value in chosen.items() if value is not None}


def embedding(run: RunConfig) -> dict[str, object] | None:
    """Return what the converted embedding must look like, where the model's size is known."""
    shape = run.model_name.embedding_shape
    if shape is None or not run.verify_model_size:
        return None
    return {"shape": list(shape), "dtype": run.save_dtype.value}
