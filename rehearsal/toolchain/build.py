"""Builds one recipe with Go into the cache: once, one build at a time, and resumable.

A build keeps everything it makes (module cache, build cache, temporary files) below one folder,
named by the recipe's key. A killed build leaves it there and the next one goes on from it; a
finished build removes it.
"""

import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.toolchain.disk import check_free, free_gb, used_gb
from rehearsal.toolchain.failure import ToolchainError
from rehearsal.toolchain.go import find_go
from rehearsal.toolchain.progress import BuildProgress, Lines
from rehearsal.toolchain.recipe import COMPILER_FLAGS, Recipe

# The compiler's own collector costs a tenth of the build; with this limit it runs only for the few
# largest packages. At most one compiler per core runs at a time.
COMPILER_MEMORY_LIMIT = "1500MiB"


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
        go = find_go(self.recipe.go_version(), self.cache, lines.say)
        packages = [self.recipe.commands[name] for name in missing]
        session = _GoSession(go, self.recipe, self.work, lock)
        lines.show(f"fetching the modules of {', '.join(missing)}")
        sizes = session.package_sizes(packages)
        session.drop_archives()
        session.compile(packages, sizes, lines)
        self._install(session, missing)
        remove(self.work)
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        lines.say(f"{', '.join(missing)} built in {minutes}:{seconds:02d} min")

    def _install(self, session: "_GoSession", missing: list[str]) -> None:
        for module, folder in self.recipe.shared.items():
            target = self.installed / "share" / module.rpartition("/")[2] / folder
            if not target.exists():
                _copy_whole(session.module_folder(module) / folder, target)
        bin_folder = self.installed / "bin"
        bin_folder.mkdir(parents=True, exist_ok=True)
        for name in missing:
            os.replace(session.out / name, bin_folder / name)


@dataclass(frozen=True)
class _GoSession:
    """One Go command with the caches of one build."""

    go: str
    recipe: Recipe
    work: Path
    lock: int

    @property
    def out(self) -> Path:
        return self.work / "out"

    def environment(self) -> dict[str, str]:
        """Return the environment that keeps Go's files in the work folder and its answers ours."""
        kept = {key: value for key, value in os.environ.items() if key not in {"GOROOT", "GOBIN"}}
        return kept | {
            "CGO_ENABLED": "0",
            "GOCACHE": str(self.work / "compiled"),
            "GOMODCACHE": str(self.work / "modules"),
            "GOPATH": str(self.work / "path"),
            "GOTMPDIR": str(self.work / "temporary"),
            # A writable module cache, so that it can be removed like any folder.
            "GOFLAGS": "-modcacherw -mod=readonly -buildvcs=false",
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            "GOGC": "off",
            "GOMEMLIMIT": COMPILER_MEMORY_LIMIT,
        }

    def package_sizes(self, packages: list[str]) -> dict[str, int]:
        """Return the bytes of Go source of each package of the build, fetching the modules."""
        for folder in ("temporary", "out"):
            (self.work / folder).mkdir(parents=True, exist_ok=True)
        answer = self._ask("list", "-deps", "-json=ImportPath,Dir,GoFiles", *packages)
        return {
            package["ImportPath"]: _source_bytes(Path(package.get("Dir", "")), package)
            for package in _json_values(answer)
        }

    def module_folder(self, module: str) -> Path:
        """Return where a module's files lie."""
        return Path(self._ask("list", "-m", "-f", "{{.Dir}}", module).strip())

    def drop_archives(self) -> None:
        """Remove the downloaded archives: their contents are unpacked beside them."""
        for archive in (self.work / "modules" / "cache" / "download").rglob("*.zip"):
            archive.unlink()

    def compile(self, packages: list[str], sizes: dict[str, int], lines: Lines) -> None:
        """Build the packages, showing progress and remembering what is done for the next try."""
        remembered = self.work / "compiled-packages"
        done = remembered.read_text().split() if remembered.exists() else []
        progress = BuildProgress(sizes, time.monotonic(), frozenset(done) & sizes.keys())
        command = self._command(
            "build", "-v", f"-gcflags={COMPILER_FLAGS}", "-ldflags", self.recipe.linker_flags
        )
        if progress.already_done:
            lines.say(f"going on with an interrupted build at {progress.text(progress.started)}")
        said: list[str] = []
        with (
            remembered.open("a") as memory,
            subprocess.Popen(
                [*command, "-o", f"{self.out}/", *packages],
                cwd=self.recipe.module,
                env=self.environment(),
                stderr=subprocess.PIPE,
                text=True,
                # A build whose parent was killed goes on: whoever comes next waits for its lock.
                pass_fds=[self.lock],
            ) as build,
        ):
            try:
                for line in build.stderr or ():
                    if line.strip() in sizes:
                        progress.finish(line.strip())
                        memory.write(line)
                        memory.flush()
                        lines.show(progress.text(time.monotonic()))
                    else:
                        said.append(line)
            except BaseException:
                build.terminate()
                raise
        if build.returncode != 0:
            raise ToolchainError(f"go build failed:\n{''.join(said[-30:]).rstrip()}")

    def _command(self, *arguments: str) -> list[str]:
        return [self.go, *arguments]

    def _ask(self, *arguments: str) -> str:
        answer = subprocess.run(
            self._command(*arguments),
            cwd=self.recipe.module,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            raise ToolchainError(
                f"`go {arguments[0]}` failed in {self.recipe.module}:\n{answer.stderr.rstrip()}"
            )
        return answer.stdout


def remove(folder: Path) -> None:
    """Remove a folder whole, also a module cache whose folders are read-only."""
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(parent, name)
            if not path.is_symlink():
                path.chmod(0o755)
    shutil.rmtree(folder)


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


def _json_values(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    position = 0
    while position < len(text.rstrip()):
        value, position = decoder.raw_decode(text, position)
        yield value
        while position < len(text) and text[position].isspace():
            position += 1


def _source_bytes(folder: Path, package: dict[str, Any]) -> int:
    files: list[str] = package.get("GoFiles", [])
    # One for each file, so that a package without known files still counts.
    return 1 + sum((folder / name).stat().st_size for name in files)
