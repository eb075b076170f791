from __future__ import annotations

from typing import Any

import pytest

from tests.infra.test_config import place
from tests.workloads.test_config import run
from workloads.run import settings_document
from workloads.stage import Stage
from workloads.stages import finetune_stages


def stages(cluster: dict[str, Any] | None = None, **plan: Any) -> dict[str, Stage]:
    """Return the stages by name."""
    found = finetune_stages(run(**plan), place(**(cluster or {})))
    return {stage.name: stage for stage in found}


def documents(cluster: dict[str, Any] | None = None, **plan: Any) -> dict[str, dict[str, Any]]:
    """Return what decides about each stage's result."""
    return {name: settings_document(stage) for name, stage in stages(cluster, **plan).items()}


def changed(cluster: dict[str, Any] | None = None, **plan: Any) -> set[str]:
    """Return the stages that become another experiment by these settings."""
    before, after = documents(), documents(cluster, **plan)
    return {name for name in before if before[name] != after[name]}


def test_the_order_of_the_run_is_convert_train_export() -> None:
    assert list(stages()) == ["hf-to-mt", "sft", "mt-to-hf"]


def test_paths_are_the_guides() -> None:
    assert {name: stage.url for name, stage in stages().items()} == {
        "hf-to-mt": "gs://my-bucket/gemma4-31b/max-text-format/0/items/",
        "sft": "gs://my-bucket/gemma4-31b/trained/sft/checkpoints/1000/model_params/",
        "mt-to-hf": "gs://my-bucket/gemma4-31b/hf-trained/sft/1000/",
    }


def test_every_stage_reads_stages_before_it() -> None:
    seen: set[str] = set()
    for name, stage in stages().items():
        assert set(stage.reads) <= seen
        seen.add(name)


def test_every_stage_loads_exactly_what_it_says_it_reads() -> None:
    """Holds for a stage added later, too."""
    found = stages()
    for stage in found.values():
        loaded = {v for v in stage.arguments.values() if v in [s.url for s in found.values()]}
        own = {stage.url}
        assert loaded - own == {found[name].url for name in stage.reads}


@pytest.mark.parametrize(
    "plan",
    [
        {"checkpoint_period": 10},
        {"profiler": False},
        {"max_restarts": 9},
        {"image": "r/i:2"},
        {"sft_timeout_minutes": 7},
        {"convert_timeout_minutes": 7},
        {"start_timeout_minutes": 7},
        {"queue": "q"},
        {"overrides": {"log_period": 10}},
        {"overrides": {"gcs_metrics": True}},
        {"overrides": {"enable_goodput_recording": True}},
        {"learning_rate": 2e-5},
        {"max_target_length": 2048},
        {"env": {"TF_CPP_MIN_LOG_LEVEL": "0"}},
        {"verify_model_size": True},
    ],
)
def test_how_a_run_is_carried_out_makes_no_other_experiment(plan: dict[str, Any]) -> None:
    assert changed(**plan) == set()


@pytest.mark.parametrize(
    "plan",
    [
        {"steps": 1200},
        {"learning_rate": 1e-5},
        {"hf_path": "me/mine"},
        {"hf_name": "n"},
        {"hf_data_dir": "d"},
        {"hf_train_files": "f"},
        {"train_split": "train"},
        {"train_data_columns": ["prompt", "completion"]},
        {"max_target_length": 4096},
        {"per_device_batch_size": 2},
        {"overrides": {"weight_decay": 0.2}},
        {"overrides": {"dtype": "float32"}},
    ],
)
def test_what_is_trained_makes_another_training_and_no_other_base(plan: dict[str, Any]) -> None:
    assert "sft" in changed(**plan)
    assert "hf-to-mt" not in changed(**plan)


@pytest.mark.parametrize(
    "plan",
    [
        {"model_name": "gemma3-27b"},
        {"hf_model_path": "me/gemma"},
        {"revision": "abc"},
        {"save_dtype": "float32"},
        {"base": "other"},
    ],
)
def test_another_base_is_converted_anew_into_another_directory(plan: dict[str, Any]) -> None:
    assert "hf-to-mt" in changed(**plan)
    assert stages()["hf-to-mt"].directory != stages(**plan)["hf-to-mt"].directory


def test_another_export_format_changes_the_export_alone() -> None:
    assert changed(export_dtype="float32") == {"mt-to-hf"}


def test_a_new_name_trains_anew_in_another_directory() -> None:
    assert changed(name="second") == {"sft", "mt-to-hf"}
    assert stages()["sft"].directory != stages(name="second")["sft"].directory


def test_another_slice_with_the_same_global_batch_is_the_same_experiment() -> None:
    assert changed(cluster={"tpu": "v6e-64"}, per_device_batch_size=0.5) == set()
    assert changed(cluster={"tpu": "v6e-64"}) == {"sft"}


def test_only_the_training_holds_the_slice_and_only_it_profiles() -> None:
    on_slice = {name for name, stage in stages().items() if stage.placement == "slice"}
    profiling = {name for name, stage in stages().items() if stage.first_attempt_arguments}
    assert on_slice == profiling == {"sft"}
    assert stages(profiler=False)["sft"].first_attempt_arguments == {}


def test_the_architecture_flag_is_given_only_to_the_model_that_needs_it() -> None:
    assert "--override_model_architecture" in stages()["mt-to-hf"].flags
    assert stages(model_name="gemma3-27b")["mt-to-hf"].flags == ()


def test_another_repository_brings_its_tokenizer() -> None:
    found = stages(hf_model_path="me/gemma")
    assert "--hf_model_path=me/gemma" in found["hf-to-mt"].flags
    assert "--hf_model_path=me/gemma" in found["mt-to-hf"].flags
    assert found["sft"].arguments["tokenizer_path"] == "me/gemma"


def test_all_stages_agree_on_scanned_layers_without_images() -> None:
    for name in ("hf-to-mt", "mt-to-hf"):
        arguments = stages()[name].arguments
        assert (arguments["scan_layers"], arguments["use_multimodal"]) == ("True", "False")


def test_environment_and_overrides_reach_the_training() -> None:
    sft = stages(env={"A": "b"}, overrides={"packing": False})["sft"]
    assert sft.environment["A"] == "b"
    assert sft.arguments["packing"] == "False"


def test_artifacts_say_what_proves_the_stage() -> None:
    kinds = {name: stage.artifacts["kind"] for name, stage in stages().items()}
    assert kinds == {
        "hf-to-mt": "orbax_base",
        "sft": "orbax_training",
        "mt-to-hf": "safetensors",
    }
    assert stages()["hf-to-mt"].artifacts["embedding"] == {
        "shape": [262144, 5376],
        "dtype": "bfloat16",
    }
    assert stages()["mt-to-hf"].artifacts["tensor_count"] == 832


def test_a_model_file_of_the_images_own_is_not_compared_with_the_table() -> None:
    assert stages(verify_model_size=False)["hf-to-mt"].artifacts["embedding"] is None


def test_deadlines_are_settings_of_their_stage() -> None:
    found = stages(convert_timeout_minutes=5, sft_timeout_minutes=6)
    assert [stage.timeout_minutes for stage in found.values()] == [5, 6, 5]
