"""What is looked for before anything is billed."""

import pytest

from workloads.provider import preflight

BUCKETS = ("adopted_bucket", "existing_bucket", "new_bucket")


def test_a_command_that_is_there_is_no_problem() -> None:
    assert preflight.problems({"commands": ["sh"]}) == []


def test_a_missing_command_is_named_with_the_command_that_installs_it() -> None:
    [line] = preflight.commands_on_path(["gke-gcloud-auth-plugin-missing"])
    assert line.startswith("gke-gcloud-auth-plugin-missing is not on PATH")
    assert "gcloud components install" in preflight._INSTALL["gke-gcloud-auth-plugin"]


def test_an_unknown_check_is_refused() -> None:
    assert preflight.unknown_inputs({"comands": []}) == [
        (
            "comands",
            "is not a check; allowed are adopted_bucket, commands, existing_bucket, new_bucket",
        )
    ]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The buckets that were looked up, each one in order with a problem."""
    names: list[str] = []

    def look_up(name: str) -> list[str]:
        names.append(name)
        return ["problem"]

    checks = {**preflight.CHECKS, **dict.fromkeys(BUCKETS, look_up)}
    monkeypatch.setattr(preflight, "CHECKS", checks)
    return names


@pytest.mark.parametrize("key", BUCKETS)
def test_the_bucket_is_looked_up_for_a_new_stack(key: str, asked: list[str]) -> None:
    assert preflight.problems({key: "b", "commands": ["sh"]}) == ["problem"]
    assert asked == ["b"]


@pytest.mark.parametrize("before", BUCKETS)
@pytest.mark.parametrize("key", BUCKETS)
def test_the_bucket_of_a_stack_that_stands_is_not_looked_up_again(
    before: str, key: str, asked: list[str]
) -> None:
    """Also when adopt_bucket is set or taken away: the bucket is the stack's by then."""
    assert preflight.problems({key: "b", "commands": ["sh"]}, {before: "b"}) == []
    assert asked == []


@pytest.mark.parametrize("key", BUCKETS)
def test_another_bucket_is_looked_up_also_by_a_stack_that_stands(
    key: str, asked: list[str]
) -> None:
    assert preflight.problems({key: "other"}, {"new_bucket": "b"}) == ["problem"]
    assert preflight.problems({key: "other"}, {"commands": ["sh"]}) == ["problem"]
    assert asked == ["other", "other"]
