"""`python -m rehearsal.cloud --home H`: runs the local cloud of a home until it ends."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rehearsal.cloud import keeper


def main() -> int:
    """Parse the command line and run the keeper."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.cloud", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="folder of this local cloud")
    parser.add_argument("--ready-fd", type=int, help="descriptor that gets `ready` or an error")
    parser.add_argument("--idle-seconds", type=float, default=15.0, help="life without a cluster")
    options = parser.parse_args()
    descriptor = options.ready_fd if options.ready_fd is not None else os.dup(sys.stdout.fileno())
    os.set_inheritable(descriptor, False)
    return keeper.run(options.home.resolve(), os.fdopen(descriptor, "w"), options.idle_seconds)


if __name__ == "__main__":
    sys.exit(main())
