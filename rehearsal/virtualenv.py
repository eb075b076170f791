"""Makes the checkout's `.venv` from the requirement files, from any Python 3.11 or newer."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt", "requirements-rehearsal.txt")

# Makes the environment in a quarter of pip's time.
INSTALLER = "uv==0.13.8"


class VirtualenvError(Exception):
    """The virtual environment cannot be made; the text says why and what to do."""


def wanted_stamp(folder: Path = CHECKOUT) -> str:
    """Return the digest of what the environment is made from: Python's version and every pin."""
    digest = hashlib.sha256(f"{sys.version_info[:2]}\n".encode())
    for name in REQUIREMENTS:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def is_current(venv: Path, stamp: str) -> bool:
    """Return whether the environment runs and was made whole from what the stamp stands for."""
    made = venv / "requirements.stamp"
    return made.exists() and made.read_text() == stamp and _works(venv)


def make(venv: Path) -> None:
    """Make the environment, or bring the one that is there to what the requirement files say.

    Raises:
        VirtualenvError: if this Python cannot, or the packages cannot be installed.
    """
    if not _works(venv):
        _create(venv)
    python = str(venv / "bin" / "python")
    files = [argument for name in REQUIREMENTS for argument in ("-r", str(CHECKOUT / name))]
    uv = _installer(venv)
    # Without a cache: what is installed here is installed once.
    if uv and _runs([uv, "pip", "install", "--quiet", "--no-cache", "--python", python, *files]):
        return
    _run([python, "-m", "ensurepip", "--upgrade"])
    _run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *files])


def _works(venv: Path) -> bool:
    """Return whether the environment runs with the version of this Python.

    A moved checkout or a removed interpreter leaves a folder that looks whole.
    """
    code = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]!r})"
    try:
        return _runs([str(venv / "bin" / "python"), "-c", code])
    except OSError:
        return False


def _create(venv: Path) -> None:
    if uv := shutil.which("uv"):
        _run(
            [uv, "venv", "--quiet", "--clear", "--no-cache", "--python", sys.executable, str(venv)]
        )
    elif not _runs([sys.executable, "-m", "venv", "--clear", str(venv)]):
        raise VirtualenvError(
            f"{sys.executable} cannot make a virtual environment: `apt-get install python3-venv` "
            "on Debian and Ubuntu, or install uv"
        )


def _installer(venv: Path) -> str | None:
    """Return the uv that is installed, or one that pip puts there; None where pip cannot get it."""
    inside = venv / "bin" / "uv"
    if uv := str(inside) if inside.exists() else shutil.which("uv"):
        return uv
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    return str(inside) if _runs([*pip, "--quiet", "--no-cache-dir", INSTALLER]) else None


def _runs(command: list[str]) -> bool:
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 0


def _run(command: list[str]) -> None:
    if not _runs(command):
        raise VirtualenvError(f"`{' '.join(command)}` failed; its own words are above")


def main() -> int:
    """Make `.venv` unless it is current."""
    venv, stamp = CHECKOUT / ".venv", wanted_stamp()
    if is_current(venv, stamp):
        return 0
    print(f"python: making .venv with {sys.executable}", flush=True)
    try:
        make(venv)
    except VirtualenvError as error:
        print(f"python: {error}", file=sys.stderr)
        return 1
    (venv / "requirements.stamp").write_text(stamp)
    return 0


if __name__ == "__main__":
    sys.exit(main())
