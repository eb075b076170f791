"""What is looked for before anything is billed."""

import pytest
from google.api_core import exceptions

from workloads.provider import objects, preflight


def test_a_command_that_is_there_is_no_problem() -> None:
    assert preflight.problems({"commands": ["sh"]}) == []


def test_a_missing_command_is_named_with_the_command_that_installs_it() -> None:
    [line] = preflight.commands_on_path(["gke-gcloud-auth-plugin-missing"])
    assert line.startswith("gke-gcloud-auth-plugin-missing is not on PATH")
    assert "gcloud components install" in preflight._INSTALL["gke-gcloud-auth-plugin"]


def test_an_unknown_check_is_refused() -> None:
    assert preflight.unknown_inputs({"comands": []}) == [
        ("comands", "is not a check; allowed are commands, new_bucket")
    ]


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The buckets that were looked up; all but `free` exist."""
    asked: list[str] = []

    class Client:
        def lookup_bucket(self, name: str, **_: object) -> object | None:
            asked.append(name)
            if name == "foreign":
                raise exceptions.Forbidden("no storage.buckets.get access")
            if name == "unreachable":
                raise exceptions.ServiceUnavailable("try again")
            return None if name == "free" else object()

    monkeypatch.setattr(objects, "open_client", lambda bucket: Client())
    return asked


@pytest.mark.parametrize("bucket", ["kept", "foreign"])
def test_a_bucket_that_exists_is_refused_with_the_settings_that_help(
    bucket: str, lookups: list[str]
) -> None:
    [line] = preflight.problems({"new_bucket": bucket})
    assert f"gs://{bucket} exists already" in line
    for key in ("cluster.adopt_bucket: true", "cluster.existing_bucket: true", "cluster.bucket"):
        assert key in line


@pytest.mark.parametrize("bucket", ["free", "unreachable"])
def test_a_bucket_that_may_be_free_is_no_problem(bucket: str, lookups: list[str]) -> None:
    assert preflight.problems({"new_bucket": bucket}) == []
    assert lookups == [bucket]


def test_the_bucket_of_a_stack_that_stands_is_not_looked_up(lookups: list[str]) -> None:
    assert preflight.problems({"new_bucket": "own", "commands": ["sh"]}, first=False) == []
    assert lookups == []
