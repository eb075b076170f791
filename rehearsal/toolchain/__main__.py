"""`python -m rehearsal.toolchain`: build what is missing, say where it is."""

import argparse
import signal
import sys

from rehearsal.toolchain import folder
from rehearsal.toolchain.failure import ToolchainError
from rehearsal.toolchain.progress import Lines


def main() -> int:
    """Build the tools that are missing; with an option, also the Kubernetes plugin."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.toolchain", description=__doc__)
    parser.add_argument(
        "--kubernetes-plugin",
        action="store_true",
        help="build Pulumi's own Kubernetes plugin too (about 13 CPU minutes)",
    )
    arguments = parser.parse_args()
    # Terminated like interrupted: the Go command ends with this process, and the build can go on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    lines = Lines("toolchain")
    try:
        lines.say(f"ready in {folder.ensure(lines)}")
        if arguments.kubernetes_plugin:
            plugin_lines = Lines("kubernetes plugin")
            plugin_lines.say(f"ready in {folder.ensure_kubernetes_plugin(plugin_lines)}")
    except ToolchainError as error:
        print(f"toolchain: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


if __name__ == "__main__":
    sys.exit(main())
