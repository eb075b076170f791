"""Free disk, looked at before a build starts and not when it fails at 90 per cent."""

import shutil
from pathlib import Path

from rehearsal.toolchain.failure import ToolchainError


def free_gb(folder: Path) -> float:
    """Return the free space, in GB, where `folder` is or will be."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free / 1e9


def used_gb(folder: Path) -> float:
    """Return what the files below `folder` hold, in GB; 0 if it is not there."""
    return sum(path.lstat().st_size for path in folder.rglob("*")) / 1e9


def check_free(folder: Path, needed_gb: float, available_gb: float, held_gb: float = 0.0) -> None:
    """Refuse to start what cannot end for want of disk.

    Args:
        folder: where the build goes.
        needed_gb: what a build from nothing needs.
        available_gb: what is free there.
        held_gb: what an interrupted build already holds of the needed space.

    Raises:
        ToolchainError: with both figures and the setting that moves the build elsewhere.
    """
    if available_gb + held_gb < needed_gb:
        raise ToolchainError(
            f"not enough disk below {folder}: the build needs {needed_gb:.1f} GB, "
            f"{available_gb:.1f} GB are free"
            f"{f' and {held_gb:.1f} GB are held by an interrupted build' if held_gb else ''}. "
            "Free some space or set REHEARSAL_CACHE to a folder on a larger disk"
        )
