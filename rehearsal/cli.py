"""The Pulumi command line against one local Google Cloud, as a person would type it."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.environment import CHECKOUT, variables


@dataclass(frozen=True)
class Stack:
    """One stack of the program on the local Google Cloud that lives in `home`."""

    name: str
    home: Path
    program: Path = CHECKOUT

    def environment(self) -> dict[str, str]:
        """Return the environment in which plain `pulumi` and `kubectl` reach this cloud."""
        return {**os.environ, **variables(self.home)}

    def run(self, *arguments: str, check: bool = True) -> int:
        """Run `pulumi ARGUMENTS` on this stack with its output on this terminal.

        Raises:
            subprocess.CalledProcessError: if `check` is set and the command fails.
        """
        return subprocess.run(
            self.command(*arguments), cwd=self.program, env=self.environment(), check=check
        ).returncode

    def capture(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `pulumi ARGUMENTS` on this stack and return what it printed.

        Raises:
            subprocess.CalledProcessError: if `check` is set and the command fails.
        """
        return subprocess.run(
            self.command(*arguments),
            cwd=self.program,
            env=self.environment(),
            check=check,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of `pulumi ARGUMENTS` for this stack."""
        return ["pulumi", *arguments, "--stack", self.name, "--non-interactive"]

    def ensure(self) -> None:
        """Make the stack in this home's state if it is not there yet.

        Its file in the program's folder already holds the encryption salt, so nothing is written
        beside the program.
        """
        if self.capture("stack", "export", check=False).returncode != 0:
            self.capture("stack", "init")

    def select(self) -> None:
        """Make it the stack of commands that name none."""
        self.capture("stack", "select")

    def resource_count(self) -> int:
        """Return how many resources the stack's state has."""
        state = json.loads(self.capture("stack", "export").stdout)
        return len(state["deployment"].get("resources") or [])

    def outputs(self) -> dict[str, Any]:
        """Return the stack's outputs."""
        outputs: dict[str, Any] = json.loads(self.capture("stack", "output", "--json").stdout)
        return outputs
