"""The environment of the real MaxText: built once from PyPI, outside the tree.

`python -m rehearsal.maxtext_environment` builds it: a virtual environment of a Python that MaxText
accepts with the pins of `requirements-maxtext.txt`, plus what the rehearsal makes with those
packages: MaxText's configuration with a tiny model, and the repositories of the local Hub.
"""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rehearsal import maxtext_settings, tinymodel
from rehearsal.cache import cache_folder
from rehearsal.maxtext_python import MaxTextPython, NoPython, find_python
from rehearsal.toolchain.progress import Lines, duration

CHECKOUT = Path(__file__).resolve().parent.parent
REQUIREMENTS = CHECKOUT / "requirements-maxtext.txt"
# What an installed environment takes on disk; the progress line rests on it.
INSTALLED_BYTES = 1_250_000_000
# The environment and the downloads beside it, until they are removed.
NEEDED_BYTES = 2_500_000_000
_COMPLETE = "complete"


class MaxTextBuildError(Exception):
    """The environment could not be built; the message says why and what to do."""


def environment() -> Path | None:
    """Return the folder of the finished environment, or None when there is none."""
    python = _python()
    if python is None:
        return None
    folder = _folder(python)
    return folder if (folder / _COMPLETE).exists() else None


def build() -> Path:
    """Return the environment's folder, building it first when it is missing.

    Raises:
        NoPython: when no Python on this machine fits.
        MaxTextBuildError: when the disk is too small or the installation fails.
    """
    python = find_python()
    folder = _folder(python)
    if (folder / _COMPLETE).exists():
        return folder
    cache_folder().mkdir(parents=True, exist_ok=True)
    _check_disk(cache_folder())
    # Never seen half-made: built beside its place and renamed. An interrupted build of the same
    # key goes on with what it has downloaded.
    partial = folder.with_name(f"{folder.name}.partial")
    _install(python, partial)
    maxtext_settings.write_configs(partial)
    _make_model(partial)
    (partial / _COMPLETE).touch()
    shutil.rmtree(partial / "downloads", ignore_errors=True)
    partial.rename(folder)
    return folder


def key(python: MaxTextPython) -> str:
    """Return the name of an environment's content: the pins, the settings and Python's version."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes())
    digest.update(maxtext_settings.VERSION.encode())
    digest.update(python.version.encode())
    return digest.hexdigest()[:12]


@functools.cache
def _python() -> MaxTextPython | None:
    try:
        return find_python()
    except NoPython:
        return None


def _folder(python: MaxTextPython) -> Path:
    return cache_folder() / f"maxtext-{key(python)}"


def _check_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise MaxTextBuildError(
            f"{folder} has {free / 1e9:.1f} GB free; the MaxText environment needs "
            f"{NEEDED_BYTES / 1e9:.1f} GB while it is built: set REHEARSAL_CACHE to a larger disk"
        )


def _install(python: MaxTextPython, folder: Path) -> None:
    lines = Lines("MaxText")
    lines.say(f"installing for Python {python.version} into {folder.parent}")
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    interpreter = str(folder / "bin" / "python3")
    if not Path(interpreter).exists():
        make = [str(python.path), "-m", "venv", *(["--without-pip"] if uv else []), str(folder)]
        _run(make, lines, folder)
    # uv needs seconds where pip needs minutes; without it the environment's own pip does.
    tool = [uv, "pip", "install", "--python", interpreter] if uv else []
    tool = tool or [interpreter, "-m", "pip", "install"]
    downloads = ["--cache-dir", str(folder / "downloads")]
    _run([*tool, *downloads, "--no-deps", "-r", str(REQUIREMENTS)], lines, folder)


def _make_model(folder: Path) -> None:
    """Let the new environment make the Hub's repositories; it has the packages for it."""
    if (tinymodel.folder() / "models").exists():
        return
    command = [str(folder / "bin" / "python3"), "-m", "rehearsal.tinymodel"]
    lines = Lines("MaxText")
    lines.say("making the tiny model, its tokenizer and its dialogues")
    _run([*command, str(tinymodel.folder())], lines, folder)


def _run(command: list[str], lines: Lines, folder: Path) -> None:
    """Run a command, telling how far the folder has grown; its output is shown if it fails."""
    log = folder.parent / f"{folder.name}.log"
    started = time.monotonic()
    variables = os.environ | {"PYTHONPATH": str(CHECKOUT), "JAX_PLATFORMS": "cpu"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=variables
        )
        while True:
            try:
                process.wait(timeout=2)
                break
            except subprocess.TimeoutExpired:
                lines.show(_progress(_size(folder), time.monotonic() - started))
            except BaseException:
                process.terminate()
                process.wait()
                raise
    if process.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise MaxTextBuildError(f"{' '.join(command[:4])} ... failed; see {log}\n{tail}")
    log.unlink()


def _progress(size: int, elapsed_seconds: float) -> str:
    fraction = min(size / INSTALLED_BYTES, 0.99)
    text = f"{fraction:.0%}, {size / 1e6:.0f} of {INSTALLED_BYTES / 1e6:.0f} MB"
    if fraction < 0.02:
        return text
    return f"{text}, {duration(elapsed_seconds / fraction * (1 - fraction))} left"


def _size(folder: Path) -> int:
    """Return the bytes below a folder, each file once (an installed file is linked to a download).

    Files may vanish while this looks: an installer renames its temporary ones.
    """
    sizes: dict[int, int] = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(parent, name))
            except FileNotFoundError:
                continue
            sizes[status.st_ino] = status.st_size
    return sum(sizes.values())


def main() -> int:
    """Build the environment and print its folder."""
    started = time.monotonic()
    lines = Lines("MaxText")
    try:
        folder = build()
    except (NoPython, MaxTextBuildError) as error:
        lines.say(str(error))
        return 1
    lines.say(f"ready in {folder} ({duration(time.monotonic() - started)})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
