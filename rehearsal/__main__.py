"""`python -m rehearsal`: the local Google Cloud by hand; `make` has the everyday commands."""

import argparse
import json
import subprocess
import sys

from rehearsal.cli import Stack
from rehearsal.cloud.client import Cloud, CloudError
from rehearsal.demo import DemoError, demo
from rehearsal.environment import CHECKOUT, default_home, exports, prepare, variables


def main() -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start this checkout's local cloud")
    exporting = commands.add_parser("env", help="print the exports for `pulumi` and `kubectl`")
    exporting.add_argument("--stack", default="rehearsal", help="the stack to select")
    commands.add_parser("show", help="say what runs")
    commands.add_parser("down", help="end the local cloud and everything in it")
    demonstration = commands.add_parser("demo", help="run a stack from `up` to `destroy`")
    demonstration.add_argument("--stack", default="rehearsal")
    demonstration.add_argument("--keep", action="store_true", help="leave the stack up")
    arguments = parser.parse_args()
    home = default_home()
    cloud = Cloud(home)
    try:
        if arguments.command == "up":
            prepare(home)
            cloud.ensure_running()
        elif arguments.command == "env":
            prepare(home)
            for file in sorted(CHECKOUT.glob("Pulumi.rehearsal*.yaml")):
                Stack(file.name.removeprefix("Pulumi.").removesuffix(".yaml"), home).ensure()
            Stack(arguments.stack, home).select()
            print(exports(variables(home)))
        elif arguments.command == "show":
            print(json.dumps(cloud.status(), indent=2))
        elif arguments.command == "down":
            cloud.down()
        else:
            demo(Stack(arguments.stack, home), keep=arguments.keep)
    except (CloudError, DemoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        # The command has said on this terminal what went wrong.
        return error.returncode or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
