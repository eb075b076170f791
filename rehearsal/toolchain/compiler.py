"""The Go command as a build uses it: its own caches, its progress, its errors as sentences."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.toolchain.failure import ToolchainError
from rehearsal.toolchain.progress import BuildProgress, Lines
from rehearsal.toolchain.recipe import COMPILER_FLAGS, Recipe

# The compiler's own collector costs a tenth of the build; with this limit it runs only for the few
# largest packages. At most one compiler per core runs at a time.
COMPILER_MEMORY_LIMIT = "1500MiB"


# A twelfth of the build at a time: its second copy then takes a third of a gigabyte.
BATCHES = 12


@dataclass(frozen=True)
class Package:
    """One Go package of a build: its name and where its files are."""

    name: str
    folders: frozenset[Path]
    source_bytes: int
    """At least one, so that a package whose files are made by Go itself still counts."""

    @classmethod
    def of(cls, value: dict[str, Any]) -> "Package":
        """Return the package that one value of `go list -json` tells of."""
        folder = Path(value.get("Dir", ""))
        sources = [folder / name for name in value.get("GoFiles", [])]
        embedded = [folder / name for name in value.get("EmbedFiles", [])]
        return cls(
            name=value.get("Name", ""),
            folders=frozenset([folder, *(file.parent for file in embedded)]),
            source_bytes=1 + sum(file.stat().st_size for file in sources),
        )


def batches(sizes: dict[str, int], count: int) -> list[list[str]]:
    """Return the names in their order, in at most `count` lists of about the same size."""
    share = sum(sizes.values()) / count
    lists: dict[int, list[str]] = {}
    position = 0
    for name, size in sizes.items():
        lists.setdefault(min(int(position / share), count - 1), []).append(name)
        position += size
    return list(lists.values())


@dataclass(frozen=True)
class Compiler:
    """One Go command with the files of one build, all below its work folder."""

    go: str
    recipe: Recipe
    work: Path
    lock: int
    """Descriptor of the build's lock, which a Go command holds too as long as it runs."""

    @property
    def out(self) -> Path:
        """The folder of the linked binaries."""
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

    def packages(self, commands: list[str]) -> dict[str, Package]:
        """Return every package of some commands, dependencies first, fetching the modules."""
        # A killed Go command leaves its temporary files.
        shutil.rmtree(self.work / "temporary", ignore_errors=True)
        for folder in ("temporary", "out"):
            (self.work / folder).mkdir(parents=True, exist_ok=True)
        fields = "-json=ImportPath,Name,Dir,GoFiles,EmbedFiles"
        answer = self._ask("list", "-deps", fields, *commands)
        return {value["ImportPath"]: Package.of(value) for value in _json_values(answer)}

    def module_folder(self, module: str) -> Path:
        """Return where a module's files lie."""
        return Path(self._ask("list", "-m", "-f", "{{.Dir}}", module).strip())

    def drop_unused(self, packages: Iterable[Package]) -> None:
        """Remove what the build never reads: archives that are unpacked, packages nobody imports.

        A third of what the modules hold is used, and disk is what a build of this size runs out
        of first.
        """
        modules = self.work / "modules"
        for archive in (modules / "cache" / "download").rglob("*.zip"):
            archive.unlink()
        used = {folder for package in packages for folder in package.folders}
        for folder, _, files in os.walk(modules, topdown=False):
            path = Path(folder)
            if path not in used and any(name.endswith(".go") for name in files):
                for name in files:
                    (path / name).unlink()

    def compile(self, commands: list[str], packages: dict[str, Package], lines: Lines) -> None:
        """Build the commands, showing progress and remembering what is done for the next try.

        Go keeps a second copy of all that one call compiles until the call ends, so the packages
        go in batches before the commands are linked.
        """
        sizes = {name: package.source_bytes for name, package in packages.items()}
        remembered = self.work / "compiled-packages"
        done = remembered.read_text().split() if remembered.exists() else []
        progress = BuildProgress(sizes, time.monotonic(), frozenset(done) & sizes.keys())
        if progress.already_done:
            lines.say(f"going on with an interrupted build at {progress.text(progress.started)}")
        libraries = {
            name: sizes[name] for name, package in packages.items() if package.name != "main"
        }
        with remembered.open("a") as memory:

            def compiled(package: str) -> None:
                progress.finish(package)
                memory.write(f"{package}\n")
                memory.flush()
                lines.show(progress.text(time.monotonic()))

            for batch in batches(libraries, BATCHES):
                self._build(batch, compiled)
            self._build(["-o", f"{self.out}/", *commands], compiled)

    def _build(self, arguments: list[str], compiled: Callable[[str], None]) -> None:
        """Run one `go build`, telling each package that it compiles."""
        flags = ["-v", f"-gcflags={COMPILER_FLAGS}", "-ldflags", self.recipe.linker_flags]
        said: list[str] = []
        with subprocess.Popen(
            [self.go, "build", *flags, *arguments],
            cwd=self.recipe.module,
            env=self.environment(),
            stderr=subprocess.PIPE,
            text=True,
            # A build whose parent was killed goes on: whoever comes next waits for its lock.
            pass_fds=[self.lock],
        ) as build:
            try:
                for line in build.stderr or ():
                    # With -v, a line of one word is a package; what else is said has blanks.
                    if len(line.split()) == 1:
                        compiled(line.strip())
                    else:
                        said.append(line)
            except BaseException:
                build.terminate()
                raise
        if build.returncode != 0:
            raise ToolchainError(f"go build failed:\n{''.join(said[-30:]).rstrip()}")

    def _ask(self, *arguments: str) -> str:
        answer = subprocess.run(
            [self.go, *arguments],
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


def _json_values(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    position = 0
    while position < len(text.rstrip()):
        value, position = decoder.raw_decode(text, position)
        yield value
        while position < len(text) and text[position].isspace():
            position += 1
