"""What a person has installed already and the rehearsal can use as it is."""

import os
import re
import shutil
import subprocess
from pathlib import Path

# The SDK of requirements.txt: an older engine may not know what it asks for.
OLDEST_PULUMI = (3, 272, 0)


def pulumi_fits(version: str) -> bool:
    """Return whether an engine with this `pulumi version` runs our program."""
    found = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?", version.strip())
    if found is None:
        return False
    numbers = tuple(int(part) for part in found.groups())
    return numbers[0] == OLDEST_PULUMI[0] and numbers >= OLDEST_PULUMI


def installed_pulumi(without: Path, path: str | None = None) -> Path | None:
    """Return the first `pulumi` on PATH if it fits; one in our own cache does not count.

    Args:
        without: the cache folder, whose binaries `make env` may have put on PATH.
        path: the PATH to look in; the process's own by default.
    """
    found = shutil.which("pulumi", path=path if path is not None else os.environ.get("PATH", ""))
    if found is None or Path(found).resolve().is_relative_to(without.resolve()):
        return None
    answer = subprocess.run(
        [found, "version"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
    )
    return Path(found) if answer.returncode == 0 and pulumi_fits(answer.stdout) else None
