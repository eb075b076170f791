from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rehearsal import maxtext_environment, maxtext_settings, trainers

PORTS = {"cloud": 1, "gcs": 20001, "gcs_tls": 20002, "hub": 20003}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "ports.json").write_text(json.dumps(PORTS))
    return tmp_path


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine on which the environment of the real MaxText exists."""
    folder = tmp_path / "maxtext-key"
    monkeypatch.setattr(maxtext_environment, "environment", lambda: folder)
    return folder


def pod(command: str = "", chips: int = 4, topology: str = "4x8") -> dict[str, Any]:
    limits = {"google.com/tpu": str(chips)} if chips else {}
    return {
        "spec": {
            "nodeSelector": {"cloud.google.com/gke-tpu-topology": topology},
            "containers": [{"command": ["sh", "-c", command], "resources": {"limits": limits}}],
        }
    }


def python(variables: dict[str, str | None], *arguments: str) -> list[str]:
    """Return what `python3 -c ...` becomes in a pod, with a Python that says how it was called."""
    answer = Path(str(variables["REHEARSAL_MAXTEXT_PYTHON"]))
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.write_text('#!/bin/sh\nprintf "%s\\n" "$0" "$@"\n')
    answer.chmod(0o755)
    environment = {name: value for name, value in variables.items() if value is not None}
    command = ["env", "python3", "-c", *arguments]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


def test_standin_project_never_runs_the_real_trainer(home: Path, real: Path) -> None:
    variables = trainers.pod_environment(home, "rehearsal-standin", pod(), 20009)
    assert str(real) not in str(variables)
    assert variables["PYTHONPATH"]
    assert Path(variables["PYTHONPATH"], "maxtext").is_dir()


def test_real_project_runs_the_environments_python(home: Path, real: Path) -> None:
    variables = trainers.pod_environment(home, "rehearsal-maxtext", pod(), 20009)
    assert python(variables, "sys.argv") == [f"{real}/bin/python3", "-c", "sys.argv"]
    assert variables["PYTHONPATH"] is None
    assert trainers.trainer("rehearsal-maxtext") == "MaxText"


def test_without_the_environment_the_real_project_runs_the_standin(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maxtext_environment, "environment", lambda: None)
    variables = trainers.pod_environment(home, "rehearsal-maxtext", pod(), 20009)
    assert "REHEARSAL_TRAINER" in variables
    assert trainers.trainer("rehearsal-maxtext") == "stand-in"


@pytest.mark.parametrize(
    ("chips", "topology", "hosts"), [(4, "4x8", "8"), (4, "2x2", "1"), (0, "4x8", "1")]
)
def test_hosts_of_a_run_follow_from_the_pods_own_slice(
    home: Path, real: Path, chips: int, topology: str, hosts: str
) -> None:
    wanted = pod(chips=chips, topology=topology)
    assert (
        trainers.pod_environment(home, "rehearsal-standin", wanted, 1)["REHEARSAL_HOSTS"] == hosts
    )
    variables = trainers.pod_environment(home, "rehearsal-maxtext", wanted, 1)
    assert variables["PROCESSES_IN_JOB"] == variables["JAX_PROCESS_COUNT"] == hosts


def test_key_that_the_program_gives_is_not_given_twice(home: Path, real: Path) -> None:
    """MaxText refuses a key that is both an argument and an `M_` variable."""
    command = "python3 -m x hardware=cpu jax_cache_dir=gs://b/c learning_rate=2e-5"
    variables = trainers.pod_environment(home, "rehearsal-maxtext", pod(command), 1)
    given = {name for name in variables if name.startswith("M_")}
    assert given == {"M_MAX_TARGET_LENGTH", "M_LOG_CONFIG"}


def test_key_that_the_program_leaves_out_is_given(home: Path, real: Path) -> None:
    variables = trainers.pod_environment(home, "rehearsal-maxtext", pod("python3 -m x"), 1)
    assert variables["M_HARDWARE"] == "cpu"
    assert "M_JAX_CACHE_DIR" in variables


def test_compile_cache_of_the_bucket_becomes_the_machines_own(home: Path, real: Path) -> None:
    """Every other argument, blanks and quotes included, arrives as the program wrote it."""
    command = "python3 -m x jax_cache_dir=gs://b/c"
    variables = trainers.pod_environment(home, "rehearsal-maxtext", pod(command), 1)
    given = ("a='b c'", "jax_cache_dir=gs://b/c", "x=gs://b", "jax_cache_dir=/c", "")
    cache = str(maxtext_settings.compile_cache())
    assert python(variables, *given)[2:] == [
        *("a='b c'", f"jax_cache_dir={cache}", "x=gs://b", "jax_cache_dir=/c", "")
    ]


def test_tpu_of_the_manifest_gives_way_to_the_processor(home: Path, real: Path) -> None:
    variables = trainers.pod_environment(home, "rehearsal-maxtext", pod(), 1)
    assert variables["JAX_PLATFORMS"] == "cpu"
    assert variables["LIBTPU_INIT_ARGS"] is None


def test_two_runs_at_once_do_not_share_a_coordinator(home: Path, real: Path) -> None:
    addresses = {
        trainers.pod_environment(home, "rehearsal-maxtext", pod(), port)["JAX_COORDINATOR_ADDRESS"]
        for port in (20009, 20010, 31999)
    }
    assert len(addresses) == 3


@pytest.mark.parametrize("project", ["rehearsal-maxtext", "rehearsal-standin"])
def test_every_address_is_of_this_machine(home: Path, real: Path, project: str) -> None:
    variables = trainers.pod_environment(home, project, pod(), 20009)
    urls = [value for value in variables.values() if value and value.startswith("http")]
    assert len(urls) >= 3
    assert all(url.startswith("http://127.0.0.1:") for url in urls)


def test_proxy_of_the_user_reaches_no_pod(home: Path, real: Path) -> None:
    variables = trainers.pod_environment(home, "rehearsal-maxtext", pod(), 1)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "no_proxy", "all_proxy"):
        assert variables[name] is None
