"""What `pulumi preview` of the full stack costs over a program that only imports its classes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rehearsal.bench.clouds import GUIDE, temporary_home
from rehearsal.bench.commands import timed
from rehearsal.cli import Stack
from rehearsal.environment import CHECKOUT

_SDKS = {"pulumi", "pulumi_gcp", "pulumi_kubernetes"}
_PROJECT = """\
name: empty
runtime:
  name: python
  options:
    virtualenv: .venv
"""

Found = Iterator[tuple[str, float]]


def previews(runs: int) -> Found:
    """Yield the times of both previews, run by turns, and what lies between them."""
    with temporary_home() as home:
        full = Stack(GUIDE, home)
        empty = Stack("empty", home, empty_program(home.parent / "empty"))
        for stack in (full, empty):
            stack.ensure()
            _preview(stack)  # The first one also compiles modules.
        for _ in range(runs):
            seconds, least = _preview(full), _preview(empty)
            yield "preview-full", seconds
            yield "preview-empty", least
            yield "preview-over", seconds - least


def empty_program(folder: Path) -> Path:
    """Make a program that imports what ours imports of Pulumi's SDKs and declares nothing."""
    folder.mkdir()
    sources = [
        CHECKOUT / "__main__.py",
        *CHECKOUT.glob("infra/*.py"),
        *CHECKOUT.glob("workloads/*.py"),
    ]
    (folder / "__main__.py").write_text("\n".join(sdk_imports(sources)) + "\n")
    (folder / "Pulumi.yaml").write_text(_PROJECT)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def sdk_imports(files: Iterable[Path]) -> list[str]:
    """Return the statements with which modules import Pulumi's SDKs, each once."""
    statements: set[str] = set()
    for file in files:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {node.module or ""}
            else:
                continue
            if {name.partition(".")[0] for name in names} <= _SDKS:
                statements.add(ast.unparse(node))
    return sorted(statements)


def _preview(stack: Stack) -> float:
    output = stack.home.parent / "preview.txt"
    return timed(stack.command("preview"), stack.environment(), stack.program, output)
