"""What the rehearsal takes on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rehearsal import maxtext_environment
from rehearsal.bench.processes import used_bytes
from rehearsal.toolchain import folder as toolchain


def sizes(runs: int) -> Iterator[tuple[str, float]]:
    """Yield the size of each part, in MB; one look is enough, so `runs` does not matter."""
    folders = {
        "size-toolchain": toolchain.bin_folder().parent,
        "size-maxtext": maxtext_environment.environment(),
        "size-venv": Path(sys.prefix),
    }
    yield from ((key, used_bytes(path) / 1e6) for key, path in folders.items() if path)
