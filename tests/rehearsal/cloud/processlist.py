"""What /proc says runs, for tests that prove that nothing does."""

from __future__ import annotations

from pathlib import Path


def command_lines() -> dict[int, str]:
    """Return the command line of each process that is no zombie, its words separated by NUL."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if text:  # a zombie has none
            found[int(folder.name)] = text
    return found


def running(text: str) -> list[str]:
    """Return the command lines that hold a text."""
    return [line.replace("\0", " ") for line in command_lines().values() if text in line]
