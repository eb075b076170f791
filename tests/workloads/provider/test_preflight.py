"""What is looked for before anything is billed."""

from workloads.provider import preflight


def test_a_command_that_is_there_is_no_problem() -> None:
    assert preflight.problems({"commands": ["sh"]}) == []


def test_a_missing_command_is_named_with_the_command_that_installs_it() -> None:
    [line] = preflight.commands_on_path(["gke-gcloud-auth-plugin-missing"])
    assert line.startswith("gke-gcloud-auth-plugin-missing is not on PATH")
    assert "gcloud components install" in preflight._INSTALL["gke-gcloud-auth-plugin"]


def test_an_unknown_check_is_refused() -> None:
    assert preflight.unknown_inputs({"comands": []}) == [
        ("comands", "is not a check; allowed are commands")
    ]
