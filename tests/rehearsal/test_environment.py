"""The environment of one local cloud, for a process and for a shell."""

import os
import subprocess
from pathlib import Path

import pytest

from rehearsal.environment import CHECKOUT, exports, variables


@pytest.fixture(autouse=True)
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REHEARSAL_TOOLCHAIN", str(tmp_path / "tools"))
    monkeypatch.delenv("REHEARSAL_KUBERNETES", raising=False)
    return tmp_path / "tools"


def test_our_executables_come_first_then_the_built_tools(tmp_path: Path, toolchain: Path) -> None:
    path = variables(tmp_path, {"PATH": "/usr/bin"})["PATH"].split(os.pathsep)
    assert path == [str(CHECKOUT / "rehearsal" / "bin"), str(toolchain), "/usr/bin"]


def test_the_real_kubernetes_plugin_comes_before_the_double(tmp_path: Path) -> None:
    base = {"PATH": "/usr/bin", "REHEARSAL_KUBERNETES": "real"}
    first, second, *_ = variables(tmp_path, base)["PATH"].split(os.pathsep)
    assert "kubernetes-plugin" in first
    assert second == str(CHECKOUT / "rehearsal" / "bin")


def test_the_environment_of_the_environment_is_the_same(tmp_path: Path) -> None:
    base = {"PATH": "/usr/bin", "NO_PROXY": "example.test"}
    once = variables(tmp_path, base)
    assert variables(tmp_path, base | once) == once


def test_two_homes_share_nothing(tmp_path: Path) -> None:
    one = variables(tmp_path / "one", {})
    two = variables(tmp_path / "two", {})
    same = {key for key in one if one[key] == two[key]}
    assert same == {
        "PATH",
        "PULUMI_CONFIG_PASSPHRASE",
        "PULUMI_SKIP_UPDATE_CHECK",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
        "REHEARSAL_PYTHON",
        "PYTHONDONTWRITEBYTECODE",
        "NO_PROXY",
        "no_proxy",
    }


def test_a_home_keeps_its_address(tmp_path: Path) -> None:
    assert variables(tmp_path, {}) == variables(tmp_path, {})


def test_the_engine_keeps_its_files_and_state_in_the_home(tmp_path: Path) -> None:
    values = variables(tmp_path, {})
    assert values["PULUMI_HOME"].startswith(str(tmp_path))
    assert values["PULUMI_BACKEND_URL"] == f"file://{tmp_path / 'state'}"


@pytest.mark.parametrize("key", ["NO_PROXY", "no_proxy"])
def test_loopback_goes_past_a_proxy_and_the_users_exceptions_stay(tmp_path: Path, key: str) -> None:
    assert variables(tmp_path, {})[key] == "127.0.0.1,localhost"
    given = variables(tmp_path, {key: "example.test"})[key]
    assert given == "127.0.0.1,localhost,example.test"


def test_a_shell_reads_back_every_value_as_it_is() -> None:
    values = {"A": "it's", "B": 'two "words" $HOME', "C": "", "D": "a;b\tc"}
    script = exports(values) + '\nprintf "%s|" "$A" "$B" "$C" "$D"'
    answer = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout == "|".join([*values.values(), ""])
