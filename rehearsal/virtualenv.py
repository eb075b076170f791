"""Makes the checkout's `.venv` from the requirement files, with nothing but a Python to start from."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt", "requirements-rehearsal.txt")

# Makes the environment in a quarter of pip's time.
INSTALLER = "uv==0.13.8"


class EnvironmentFailure(Exception):
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
    if not made.exists() or made.read_text() != stamp:
        return False
    # A moved checkout or a removed interpreter leaves a folder that looks whole.
    try:
        return _runs([str(venv / "bin" / "python"), "-c", "import pulumi"])
    except OSError:
        return False


def make(venv: Path) -> None:
    """Make the environment with every package of the requirement files.

    Raises:
        EnvironmentFailure: if this Python cannot, or the packages cannot be installed.
    """
    python = str(venv / "bin" / "python")
    uv = shutil.which("uv")
    if uv:
        _run(
            [uv, "venv", "--quiet", "--clear", "--no-cache", "--python", sys.executable, str(venv)]
        )
    else:
        _make_with_pip(venv)
        uv = _installer_in(venv)
    files = [argument for name in REQUIREMENTS for argument in ("-r", str(CHECKOUT / name))]
    # Without a cache: what is installed here is installed once.
    with_uv = [uv or "", "pip", "install", "--quiet", "--no-cache", "--python", python, *files]
    if uv is None or not _runs(with_uv):
        _run([python, "-m", "ensurepip", "--upgrade"])
        _run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *files])


def _make_with_pip(venv: Path) -> None:
    if not _runs([sys.executable, "-m", "venv", "--clear", str(venv)]):
        raise EnvironmentFailure(
            f"{sys.executable} cannot make a virtual environment: `apt-get install python3-venv` "
            "on Debian and Ubuntu, or install uv"
        )


def _installer_in(venv: Path) -> str | None:
    """Return a uv that pip put into the environment; None where pip cannot get it."""
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install"]
    got = _runs([*pip, "--quiet", "--no-cache-dir", INSTALLER])
    return str(venv / "bin" / "uv") if got else None


def _runs(command: list[str]) -> bool:
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode == 0


def _run(command: list[str]) -> None:
    if not _runs(command):
        raise EnvironmentFailure(f"`{' '.join(command)}` failed; its own words are above")


def main() -> int:
    """Make `.venv` unless it is current."""
    venv, stamp = CHECKOUT / ".venv", wanted_stamp()
    if is_current(venv, stamp):
        return 0
    print(f"python: making .venv with {sys.executable}", flush=True)
    try:
        make(venv)
    except EnvironmentFailure as failure:
        print(f"python: {failure}", file=sys.stderr)
        return 1
    (venv / "requirements.stamp").write_text(stamp)
    return 0


if __name__ == "__main__":
    sys.exit(main())
