"""Which MaxText settings make another experiment, and which only how it is carried out.

A stage runs again when its experiment changes. A shorter checkpoint period or another metrics file
must not cost a training run; another learning rate must.
"""

from __future__ import annotations

from collections.abc import Mapping

_CARRIES_NO_RESULT = (
    "async_checkpointing checkpoint_period checkpoint_storage_concurrent_gb"
    " enable_checkpoint_cloud_logger enable_goodput_recording enable_jax_profiler"
    " enable_tensorboard enable_wandb gcs_metrics hide_profiler_step_metric jax_cache_dir"
    " jax_distributed_initialization_timeout log_config log_period managed_mldiagnostics"
    " max_num_checkpoints_to_keep metrics_file monitor_goodput profile_periodically_period"
    " profiler profiler_steps report_heartbeat_metric_for_gcp_monitoring"
    " report_performance_metric_for_gcp_monitoring skip_first_n_steps_for_profiler"
    " skip_jax_distributed_system tensorboard_dir upload_all_profiler_results"
)
OPERATIONAL_KEYS = frozenset(_CARRIES_NO_RESULT.split())
"""MaxText settings that change no result."""

MANAGED_KEYS: dict[str, str] = {
    "base_output_directory": "every stage has a directory of its own",
    "checkpoint_period": "set run.checkpoint_period",
    "data_shuffle_seed": "it counts the attempts, so that a resumed run sees other data first",
    "hardware": "it follows from the stage",
    "hf_access_token": "set hf_token; a token in an argument is readable by everyone",
    "hf_name": "set run.hf_name",
    "hf_data_dir": "set run.hf_data_dir",
    "hf_path": "set run.hf_path",
    "hf_train_files": "set run.hf_train_files",
    "learning_rate": "set run.learning_rate",
    "load_full_state_path": "the run starts from the converted base",
    "load_parameters_path": "every stage reads what an earlier one wrote",
    "max_target_length": "set run.max_target_length",
    "model_name": "set run.model_name",
    "per_device_batch_size": "set run.per_device_batch_size",
    "profiler": "set run.profiler",
    "run_name": "set run.name",
    "scan_layers": "all stages must agree on it",
    "steps": "set run.steps",
    "train_data_columns": "set run.train_data_columns",
    "train_split": "set run.train_split",
    "use_multimodal": "the export carries text weights only",
}
"""MaxText settings a user cannot override, with where they come from."""

# Where a stage reads and writes belongs to its identity by `directory` and `reads`; the batch of
# one chip is judged as the global batch, so that another slice can continue the same experiment.
_JUDGED_ELSEWHERE = frozenset(
    {
        "base_output_directory",
        "hardware",
        "load_parameters_path",
        "per_device_batch_size",
        "steps",
    }
)


def experiment(arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments whose change makes another experiment."""
    ignored = OPERATIONAL_KEYS | _JUDGED_ELSEWHERE
    return {key: value for key, value in arguments.items() if key not in ignored}


def operation(arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments that are recorded with a run but make no other experiment."""
    return {key: value for key, value in arguments.items() if key in OPERATIONAL_KEYS}
