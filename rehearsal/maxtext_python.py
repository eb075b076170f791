"""A Python on this machine that the real MaxText runs with."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# MaxText 0.2.4 declares >= 3.12. The pins have wheels for these; 3.12 is what its image has.
SUPPORTED = ((3, 12), (3, 13))
_PROBE = "import ensurepip, ssl, sys, venv; print('%d.%d.%d' % sys.version_info[:3])"


@dataclass(frozen=True)
class MaxTextPython:
    """An interpreter and its full version."""

    path: Path
    version: str


class NoPython(Exception):  # noqa: N818
    """No Python on this machine fits MaxText; the message says which would."""


def find_python() -> MaxTextPython:
    """Return the first fitting interpreter, 3.12 before 3.13; raise NoPython without one.

    `$REHEARSAL_MAXTEXT_PYTHON` names one outright.
    """
    chosen = os.environ.get("REHEARSAL_MAXTEXT_PYTHON")
    for path in [chosen] if chosen else _candidates():
        version = _version(path)
        if version and tuple(map(int, version.split(".")[:2])) in SUPPORTED:
            return MaxTextPython(Path(path), version)
    tried = f" ({chosen} from REHEARSAL_MAXTEXT_PYTHON does not fit)" if chosen else ""
    names = " or ".join(f"{major}.{minor}" for major, minor in SUPPORTED)
    raise NoPython(
        f"MaxText 0.2.4 needs Python {names}, with its venv module, and none was found on PATH "
        f"or in ~/.pyenv/versions{tried}; install one or set REHEARSAL_MAXTEXT_PYTHON"
    )


def _candidates() -> Iterator[str]:
    """Yield interpreters by minor version: this one, those on PATH, those of pyenv."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for major, minor in SUPPORTED:
        if sys.version_info[:2] == (major, minor):
            # Of the base installation: the environment must not depend on this one.
            yield str(Path(sys.base_prefix) / "bin" / f"python{major}.{minor}")
        if found := shutil.which(f"python{major}.{minor}"):
            yield found
        for folder in sorted(versions.glob(f"{major}.{minor}.*"), reverse=True):
            yield str(folder / "bin" / "python3")


def _version(path: str) -> str | None:
    """Return the version of an interpreter that works, else None (a pyenv shim may not)."""
    try:
        probe = subprocess.run(
            [path, "-c", _PROBE], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return probe.stdout.split()[0]
