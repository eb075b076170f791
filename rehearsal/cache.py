"""Where the rehearsal keeps what is expensive to make, outside the tree and shared by checkouts."""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of built binaries and environments: `$REHEARSAL_CACHE`, else XDG's."""
    chosen = environment.get("REHEARSAL_CACHE")
    if chosen:
        return Path(chosen).absolute()
    xdg = environment.get("XDG_CACHE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".cache") / "maxtext-sft"
