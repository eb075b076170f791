"""Builds one recipe with Go into the cache: once, one build at a time, and resumable.

A build keeps everything it makes (module cache, build cache, temporary files) below one folder,
named by the recipe's key. A killed build leaves it there and the next one goes on from it; a
finished build removes it.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rehearsal.toolchain.compiler import Compiler
from rehearsal.toolchain.disk import check_free, free_gb, used_gb
from rehearsal.toolchain.go import find_go
from rehearsal.toolchain.progress import Lines
from rehearsal.toolchain.recipe import Recipe


@dataclass(frozen=True)
class Build:
    """One recipe's build with its folders."""

    recipe: Recipe
    cache: Path

    @property
    def installed(self) -> Path:
        """The folder of the finished build: `bin` and `share`."""
        return self.cache / f"{self.recipe.name}-{self.recipe.key()}"

    @property
    def work(self) -> Path:
        """The folder of everything that is needed only while it is built."""
        return self.cache / f"build-{self.recipe.key()}"

    def missing(self, wanted: frozenset[str]) -> list[str]:
        """Return the wanted binaries that are not installed yet, in the recipe's order."""
        return [
            name
            for name in self.recipe.commands
            if name in wanted and not (self.installed / "bin" / name).exists()
        ]

    def ensure(self, wanted: frozenset[str], lines: Lines) -> Path:
        """Make sure that the wanted binaries are installed and return their folder.

        Raises:
            ToolchainError: if the disk is too small, no Go can be had or the build fails.
        """
        if self.missing(wanted):
            self.cache.mkdir(parents=True, exist_ok=True)
            with _locked(self.cache / f"build-{self.recipe.key()}.lock", lines) as lock:
                missing = self.missing(wanted)
                if missing:
                    self._run(missing, lines, lock)
        return self.installed / "bin"

    def _run(self, missing: list[str], lines: Lines, lock: int) -> None:
        check_free(self.cache, self.recipe.needed_gb, free_gb(self.cache), used_gb(self.work))
        started = time.monotonic()
        go = find_go(self.recipe.go_version(), self.work, lines.say)
        compiler = Compiler(go, self.recipe, self.work, lock)
        lines.show(f"fetching the modules of {', '.join(missing)}")
        # Always of every command: what is dropped must not depend on what is missing today.
        everything = compiler.packages(list(self.recipe.commands.values()))
        self._share(compiler)
        compiler.drop_unused(everything.values())
        commands = [self.recipe.commands[name] for name in missing]
        compiler.compile(commands, compiler.packages(commands), lines)
        self._install(compiler.out, missing)
        shutil.rmtree(self.work)
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        lines.say(f"{', '.join(missing)} built in {minutes}:{seconds:02d} min")

    def _share(self, compiler: Compiler) -> None:
        """Copy the modules' own files that the rehearsal applies, such as a controller's CRDs."""
        for module, folder in self.recipe.shared.items():
            target = self.installed / "share" / module.rpartition("/")[2] / folder
            if not target.exists():
                _copy_whole(compiler.module_folder(module) / folder, target)

    def _install(self, built: Path, names: list[str]) -> None:
        folder = self.installed / "bin"
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            os.replace(built / name, folder / name)


@contextmanager
def _locked(path: Path, lines: Lines) -> Iterator[int]:
    """Hold the build's lock; the system gives it back when its last holder ends."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lines.say("another build of the same tools is running: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _copy_whole(source: Path, target: Path) -> None:
    """Copy a folder so that the target is there whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial)
    partial.rename(target)
