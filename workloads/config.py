"""The `run` block of a stack file: what is trained, on what, and for how long.

Keys that MaxText has keep MaxText's names.
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from infra.fields import Allowed, Count, CountOrZero, Flag, Positive, Text, matching
from workloads.experiment import MANAGED_KEYS
from workloads.models import MODELS, Model, find_model

# Longer names would not fit, with the stage before them, into the name of a pod.
RUN_NAME_MAX_LENGTH = 30


class Precision(StrEnum):
    """Number formats MaxText stores weights in."""

    BFLOAT16 = "bfloat16"
    FLOAT32 = "float32"


def _model(value: object) -> Model:
    if isinstance(value, Model):
        return value
    if not isinstance(value, str):
        raise ValueError("must be the name of a MaxText model such as gemma4-31b")
    return find_model(value)


def _override(value: object) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str) and value and value.isprintable():
        return value
    raise ValueError("must be a number, true, false or non-empty text")


def _unmanaged(overrides: dict[str, str]) -> dict[str, str]:
    for key in overrides:
        if not re.fullmatch(r"[a-z][a-z0-9_.]*", key):
            raise ValueError(f"{key!r} is not the name of a MaxText setting")
        if key in MANAGED_KEYS:
            raise ValueError(f"{key} is set by this program: {MANAGED_KEYS[key]}")
    return overrides


def _portable(environment: dict[str, str]) -> dict[str, str]:
    for key in environment:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            raise ValueError(f"{key!r} is not the name of an environment variable")
        if key.startswith("M_"):
            raise ValueError(f"{key}: MaxText reads M_... as settings; use run.overrides instead")
        if key in ("HF_TOKEN", "RESTART_ATTEMPT", "DATA_SHUFFLE_SEED"):
            raise ValueError(f"{key} is set by this program; the token is the key hf_token")
    return environment


RunName = Annotated[
    Text,
    matching(
        rf"[a-z]([a-z0-9-]{{0,{RUN_NAME_MAX_LENGTH - 2}}}[a-z0-9])?",
        f"must be 1 to {RUN_NAME_MAX_LENGTH} of a-z, 0-9 and '-', first a letter, last no '-'",
    ),
]
HubId = Annotated[
    Text, matching(r"[\w.-]+/[\w.-]+", "must be a repository on the Hub such as google/gemma-4")
]
Override = Annotated[str, BeforeValidator(_override), Allowed("number, `true`, `false` or text")]
ModelName = Annotated[Model, BeforeValidator(_model), Allowed(", ".join(MODELS))]


class RunConfig(BaseModel):
    """Everything about the run: frozen, complete, refused when a key is unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: RunName = Field(
        default="sft",
        description="The run's name and its directory in the bucket; a new name trains anew",
    )
    base: RunName | None = Field(
        default=None,
        description=(
            "A name for the converted base; a new name converts anew. By default the "
            "base's directory follows from hf_model_path, revision and save_dtype"
        ),
    )
    image: Text = Field(
        default="us-docker.pkg.dev/cloud-tpu-images/maxtext-images/tpu_post_training:0.2.4",
        description=(
            "The MaxText image; another one is used by the next stage that runs and "
            "makes none run again"
        ),
    )
    model_name: ModelName = Field(
        default_factory=lambda: find_model("gemma4-31b"),
        description=(
            "The model, as MaxText calls it; without hf_model_path it comes from "
            "MaxText's own repository for it on the Hub"
        ),
    )
    hf_model_path: HubId | None = Field(
        default=None,
        description=(
            "Another repository on the Hub with the same architecture, such as a "
            "fine-tune of your own"
        ),
    )
    revision: Text | None = Field(
        default=None,
        description="The commit or tag of that repository on the Hub; by default the newest",
    )
    save_dtype: Precision = Field(
        default=Precision.BFLOAT16, description="Number format of the converted base"
    )
    export_dtype: Precision = Field(
        default=Precision.BFLOAT16, description="Number format of the exported model"
    )
    hf_path: Text = Field(
        default="HuggingFaceH4/ultrachat_200k",
        description=(
            "The training data: a dataset on the Hub, or json or parquet for files of your own"
        ),
    )
    hf_name: Text | None = Field(
        default=None, description="The dataset's configuration, where it has several"
    )
    hf_data_dir: Text | None = Field(
        default=None, description="The directory inside the dataset, where it has several"
    )
    hf_train_files: Text | None = Field(
        default=None,
        description=(
            "Training files of your own, such as gs://BUCKET/data/*.jsonl, with "
            "hf_path json or parquet"
        ),
    )
    train_split: Text | None = Field(
        default=None,
        description="The split of the dataset to train on; MaxText's own default is train_sft",
    )
    train_data_columns: tuple[Text, ...] | None = Field(
        default=None,
        description=(
            "Columns with the dialogue: [messages], which is MaxText's own default, "
            "[prompt, completion] or [question, answer]"
        ),
    )
    steps: Count = Field(
        default=1000,
        description=(
            "Training steps in all, not additional ones; more of them continue a finished run"
        ),
    )
    per_device_batch_size: Positive = Field(
        default=1.0,
        description=(
            "Sequences for each chip and step; times the chips, it is part of the experiment"
        ),
    )
    learning_rate: Positive | None = Field(
        default=None, description="Peak learning rate; MaxText's own default is 2e-5"
    )
    max_target_length: Count | None = Field(
        default=None, description="Tokens of a sequence; MaxText's own default is 2048"
    )
    checkpoint_period: Count | None = Field(
        default=None,
        description=(
            "Steps between checkpoints, at most `steps`: what a lost host can cost; a"
            " quarter of `steps` by default"
        ),
    )
    profiler: Flag = Field(
        default=True,
        description="Record a profile of the first steps of the first attempt, for TensorBoard",
    )
    overrides: dict[str, Override] = Field(
        default_factory=dict,
        description=(
            "Further MaxText settings of the training, such as warmup_steps_fraction:"
            " 0.1; not those that have a key here"
        ),
    )
    env: dict[str, Override] = Field(
        default_factory=dict, description="Environment variables of the training's containers"
    )
    secret_env: dict[str, Text] = Field(
        default_factory=dict,
        description=(
            "Environment variables of the training with secret values, kept in a "
            "Secret: `pulumi config set --secret --path run.secret_env.NAME`"
        ),
    )
    verify_model_size: Flag = Field(
        default=True,
        description=(
            "Judge memory before and shapes after by the model's published size; "
            "false when the image brings a model file of its own"
        ),
    )
    max_restarts: CountOrZero = Field(
        default=3, description="Restarts of a stage, after a lost host, before it fails"
    )
    start_timeout_minutes: Count = Field(
        default=60, description="Minutes until all pods of a stage must have started"
    )
    convert_timeout_minutes: Count = Field(
        default=180, description="Minutes one attempt of a conversion may take"
    )
    sft_timeout_minutes: Count = Field(
        default=24 * 60, description="Minutes one attempt of the training may take"
    )
    queue: RunName | None = Field(
        default=None,
        description="A Kueue queue to submit the JobSets to, in a cluster that has Kueue",
    )

    _checked_overrides = field_validator("overrides")(_unmanaged)
    _checked_env = field_validator("env", "secret_env")(_portable)

    @field_validator("checkpoint_period")
    @classmethod
    def _period_is_within_the_run(cls, period: int | None, info: ValidationInfo) -> int | None:
        steps = info.data.get("steps")
        if period is not None and steps is not None and period > steps:
            raise ValueError(f"is more than run.steps = {steps}: no checkpoint before the end")
        return period

    @property
    def checkpoint_every(self) -> int:
        """Steps between two checkpoints: what a lost host can cost."""
        return self.checkpoint_period or max(1, self.steps // 4)

    def global_batch_size(self, chips: int) -> int | float:
        """Return the sequences of one step on all chips together."""
        size = self.per_device_batch_size * chips
        return int(size) if size.is_integer() else size

    @property
    def base_directory(self) -> str:
        """The base's directory: the guide's for the default base, another for any other."""
        if self.base is not None:
            return f"max-text-format-{self.base}"
        other = (self.hf_model_path, self.revision, self.save_dtype.value)
        if other == (None, None, Precision.BFLOAT16.value):
            return "max-text-format"
        digest = hashlib.sha256(repr(other).encode()).hexdigest()[:8]
        return f"max-text-format-{digest}"
