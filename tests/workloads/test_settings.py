from __future__ import annotations

from typing import Any

import pulumi
import pytest

from tests.infra.test_config import VALID
from tests.workloads.test_config import run
from workloads.settings import read_secrets, read_settings


def refusal(cluster: dict[str, Any] | None = None, **run: Any) -> str:
    """Return the text with which a stack's config is refused."""
    with pytest.raises(pulumi.RunError) as caught:
        read_settings({**VALID, **(cluster or {})}, run)
    return str(caught.value)


def test_both_blocks_are_judged_before_the_first_complaint() -> None:
    text = refusal({"zone": "x"}, steps="abc", unknown=1)
    assert text.startswith("3 settings of this stack cannot be used:")
    for key in ("cluster.zone", "run.steps", "run.unknown"):
        assert key in text


def test_a_slice_too_small_for_the_model_is_refused_with_the_number_it_needs() -> None:
    text = refusal({"tpu": "v6e-16"})
    assert "gemma4-31b needs at least 26 v6e chips to train, here are 16" in text


def test_two_small_slices_hold_what_one_cannot() -> None:
    place, _ = read_settings({**VALID, "tpu": "v6e-16", "num_slices": 2}, {})
    assert place.chips == 32


def test_a_disk_too_small_for_the_weights_is_refused() -> None:
    assert "cluster.tpu_disk_size_gb = 100" in refusal({"tpu_disk_size_gb": 100})
    assert "llama3.1-70b needs" in refusal({"tpu": "v6e-256"}, model_name="llama3.1-70b")


def test_the_default_disk_has_room_for_the_guides_model() -> None:
    read_settings(VALID, {})


def test_a_model_file_of_the_images_own_is_not_judged_by_the_table() -> None:
    place, _ = read_settings({**VALID, "tpu": "v6e-4"}, {"verify_model_size": False})
    assert place.tpu.hosts == 1


def test_no_token_is_no_secret() -> None:
    assert read_secrets(None, run()) == {}
    assert read_secrets("", run()) == {}


def test_secrets_are_kept_by_their_names_in_the_cluster() -> None:
    plan = run(secret_env={"WANDB_API_KEY": "k"})
    assert read_secrets("hf_abc\n", plan) == {
        "hf-token": {"token": "hf_abc"},
        "run-environment": {"WANDB_API_KEY": "k"},
    }


def test_a_bad_token_is_refused_without_showing_it() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        read_secrets("'hf_abc'", run())
    assert "hf_abc" not in str(caught.value)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"secret_env": {"KEY": " canary"}}, id="secret"),
        pytest.param({"env": {"KEY": ["canary"]}}, id="encrypted-in-the-wrong-place"),
        pytest.param({"secret_env": "canary"}, id="not-a-block"),
    ],
)
def test_no_value_of_a_block_that_holds_a_secret_is_shown(
    monkeypatch: pytest.MonkeyPatch, block: dict[str, Any]
) -> None:
    monkeypatch.setattr("workloads.settings.is_config_secret", lambda key: key.endswith(":run"))
    text = refusal({"zone": "x"}, **block)
    assert "canary" not in text
    assert f"run.{next(iter(block))}" in text
    assert 'cluster.zone = "x"' in text
