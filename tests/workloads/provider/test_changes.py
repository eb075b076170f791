"""What a preview plans for a stage, and what it refuses."""

from typing import Any

import pytest

from workloads.provider import digest as digests
from workloads.provider.admission import RefusedError
from workloads.provider.changes import (
    Change,
    check_directory,
    check_lowered,
    compare,
    schedule_warning,
)
from workloads.provider.values import UNKNOWN

INPUTS: dict[str, Any] = {
    "stage": "sft",
    "settings": {"learning_rate": 2e-5, "steps": 1000},
    "reads": [{"stage": "hf-to-mt", "url": "gs://b/0/items/", "digest": "base"}],
    "operational": {"image": "maxtext:1"},
    "directory": "gs://b/trained/r/",
    "kubeconfig": "k",
    "manifest": {"spec": {"args": ["steps=1000"]}},
}


def changed(**settings: Any) -> dict[str, Any]:
    return {**INPUTS, "settings": {**INPUTS["settings"], **settings}}


def outputs(**other: Any) -> dict[str, Any]:
    digest = digests.digest(digests.document("sft", INPUTS["settings"], INPUTS["reads"]))
    return {
        **INPUTS,
        "state": "proven",
        "proven_digest": digest,
        "committed_step": 1000,
        **other,
    }


@pytest.mark.parametrize(
    "other",
    [
        {"operational": {"image": "maxtext:2"}},
        {"kubeconfig": "another"},
        {"kubeconfig": UNKNOWN},
        {"manifest": {"spec": {"args": [UNKNOWN], "labels": {"team": "x"}}}},
        {"timeout_minutes": 5, "still_billing": []},
    ],
)
def test_operational_changes_never_run_a_proven_stage(other: dict[str, Any]) -> None:
    assert not compare(INPUTS, outputs(), {**INPUTS, **other}).runs


def test_a_changed_setting_runs_it_and_is_shown_by_its_path() -> None:
    new = {**changed(steps=1200), "manifest": {"spec": {"args": ["steps=1200"]}}}
    verdict = compare(INPUTS, outputs(), new)
    assert verdict.runs
    assert verdict.changes == (
        Change("settings.steps", "update"),
        Change("manifest.spec.args[0]", "update"),
    )


def test_what_only_follows_from_a_setting_takes_no_room_from_the_live_line() -> None:
    follows = {"url": "gs://b/1200/", "artifacts": {"steps": 1200}, "operational": {"period": 300}}
    verdict = compare(INPUTS, outputs(), {**changed(steps=1200), **follows})
    assert verdict.changes == (Change("settings.steps", "update"),)


@pytest.mark.parametrize("key", ["settings", "reads"])
def test_what_is_not_known_yet_counts_as_running(key: str) -> None:
    new = {**INPUTS, "reads": [{**INPUTS["reads"][0], "digest": UNKNOWN}]}
    assert compare(INPUTS, outputs(), new).runs
    assert compare(INPUTS, outputs(), {**INPUTS, key: UNKNOWN}).runs


@pytest.mark.parametrize("state", ["failed", "interrupted"])
def test_an_unproven_stage_runs_though_nothing_changed(state: str) -> None:
    """The engine's own note of a failure does not survive a refresh."""
    verdict = compare(INPUTS, outputs(state=state), INPUTS)
    assert verdict.runs
    assert verdict.changes == (Change("state", "update"),)
    assert compare(INPUTS, outputs(proven_digest="older"), INPUTS).runs


def test_the_kubeconfig_is_never_shown() -> None:
    verdict = compare(INPUTS, outputs(), {**changed(steps=1), "kubeconfig": "secret"})
    assert not any("kubeconfig" in change.path for change in verdict.changes)


def test_other_settings_in_the_same_directory_are_refused() -> None:
    with pytest.raises(RefusedError, match="learning_rate: 2e-05 -> 1e-05"):
        check_directory(INPUTS, changed(learning_rate=1e-5))
    check_directory(INPUTS, changed(steps=2000))
    check_directory(INPUTS, {**changed(learning_rate=1e-5), "directory": "gs://b/trained/q/"})


def test_another_base_in_the_same_directory_is_refused_as_soon_as_it_is_known() -> None:
    other = [{**INPUTS["reads"][0], "digest": "other"}]
    with pytest.raises(RefusedError, match="gs://b/0/items/"):
        check_directory(INPUTS, {**INPUTS, "reads": other})
    check_directory(INPUTS, {**INPUTS, "reads": [{**other[0], "digest": UNKNOWN}]})


def test_fewer_steps_are_compared_with_what_is_committed_not_with_the_last_attempt() -> None:
    with pytest.raises(RefusedError, match="already holds step 1000"):
        check_lowered(outputs(), changed(steps=900))
    failed_raise = outputs(state="failed", settings={**INPUTS["settings"], "steps": 2000})
    check_lowered(failed_raise, changed(steps=1500))
    check_lowered(failed_raise, INPUTS)


def test_the_proven_result_may_be_asked_for_again_after_a_failed_raise() -> None:
    check_lowered(outputs(state="failed", committed_step=1100), INPUTS)
    with pytest.raises(RefusedError):
        check_lowered(outputs(state="failed", committed_step=1100), changed(steps=1050))


def test_raising_the_steps_tells_what_it_means() -> None:
    assert "learning rate jumps up" in schedule_warning(outputs(), changed(steps=1200))
    assert schedule_warning(outputs(), INPUTS) == ""
    assert schedule_warning(outputs(committed_step=None), changed(steps=1200)) == ""
