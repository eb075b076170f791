"""The Go command as a build uses it: its own caches, its progress, its errors as sentences."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.toolchain.failure import ToolchainError
from rehearsal.toolchain.progress import BuildProgress, Lines
from rehearsal.toolchain.recipe import COMPILER_FLAGS, Recipe

# The compiler's own collector costs a tenth of the build; with this limit it runs only for the few
# largest packages. At most one compiler per core runs at a time.
COMPILER_MEMORY_LIMIT = "1500MiB"


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
