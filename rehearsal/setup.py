"""`python -m rehearsal.setup`: first the plan of the run, then what the run needs, all at once.

The toolchain is bound by the processor and MaxText's environment by the network, so both are made
at the same time, while the plan is already there to read.
"""

import argparse
import contextlib
import signal
import subprocess
import sys
import threading

from rehearsal import maxtext_environment
from rehearsal.maxtext_python import NoPython, find_python
from rehearsal.toolchain import folder
from rehearsal.toolchain.progress import LINE_EVERY_SECONDS, Lines

# The plan comes first to the eye and to the processor.
BACKGROUND_NICENESS = "5"

# The stack whose pods run the stand-in trainer, so MaxText is not needed.
STAND_IN_STACK = "rehearsal-guide"


class Installer:
    """One part of the setup: a process of its own that tells line by line how far it is."""

    def __init__(self, module: str, *arguments: str) -> None:
        command = ["nice", "-n", BACKGROUND_NICENESS, sys.executable, "-m", module, *arguments]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said: list[str] = []
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    @property
    def latest(self) -> str:
        """The last line it said, which is its status."""
        return self.said[-1] if self.said else ""

    def result(self) -> str | None:
        """Return its last word, all its last words if it failed; None while it runs."""
        if self.process.poll() is None:
            return None
        self._listener.join()
        return "\n".join(self.said[-30:]) if self.process.returncode else self.latest

    def end(self) -> None:
        """End the process; it can go on another time."""
        self.process.terminate()
        self.process.wait()
        self._listener.join()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.said.append(line.rstrip())


def missing_parts(stack: str | None, kubernetes_plugin: bool) -> list[tuple[str, ...]]:
    """Return the modules, with arguments, that have to run before `stack` can be used.

    Args:
        stack: the stack's name; None stands for all of them.
        kubernetes_plugin: whether Pulumi's own Kubernetes plugin is wanted too.
    """
    parts: list[tuple[str, ...]] = []
    if kubernetes_plugin and not folder.has_kubernetes_plugin():
        parts.append(("rehearsal.toolchain", "--kubernetes-plugin"))
    elif not folder.is_complete():
        parts.append(("rehearsal.toolchain",))
    if stack != STAND_IN_STACK and maxtext_environment.environment() is None:
        try:
            find_python()
            parts.append(("rehearsal.maxtext_environment",))
        except NoPython as reason:
            print(f"MaxText: {reason}; the stand-in trainer is used", flush=True)
    return parts


def run(parts: list[tuple[str, ...]], plan: list[str] | None) -> int:
    """Run the parts side by side and show how far they are, after the plan if there is one.

    Returns the exit code: 0 if all succeeded, else the first failure's.
    """
    installers = [Installer(*part) for part in parts]
    try:
        if plan is not None:
            subprocess.run([sys.executable, "-m", *plan], check=False)
        return _watch(installers)
    finally:
        for installer in installers:
            installer.end()


def _watch(installers: list[Installer]) -> int:
    """Show the status of every installer until all have ended or one has failed."""
    lines = Lines("setup")
    running = list(installers)
    while running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            running[0].process.wait(LINE_EVERY_SECONDS)
        for installer in list(running):
            result = installer.result()
            if result is None:
                continue
            running.remove(installer)
            lines.say(result)
            if installer.process.returncode:
                return installer.process.returncode
        if running:
            lines.show(" | ".join(installer.latest for installer in running))
    return 0


def main() -> int:
    """Set up what is missing for one stack or for all."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.setup", description=__doc__)
    parser.add_argument("--stack", help="set up for this stack only, and show its plan first")
    parser.add_argument("--kubernetes-plugin", action="store_true", help="also Pulumi's own plugin")
    arguments = parser.parse_args()
    # Terminated like interrupted: the installers end with this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    plan = ["rehearsal.plan", "--stack", arguments.stack] if arguments.stack else None
    parts = missing_parts(arguments.stack, arguments.kubernetes_plugin)
    try:
        return run(parts, plan if parts else None)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
