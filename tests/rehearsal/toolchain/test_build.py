"""The build around Go: once, whole, resumable, one at a time, and nothing left beside the result.

A stand-in for the Go command compiles two packages and a main one in no time, keeps its build
cache as Go does, and stops for ever before the last package while a file named `hang` is there.
"""

import fcntl
import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rehearsal.toolchain import build as build_module
from rehearsal.toolchain.build import Build
from rehearsal.toolchain.compiler import batches
from rehearsal.toolchain.failure import ToolchainError
from rehearsal.toolchain.progress import Lines
from rehearsal.toolchain.recipe import Recipe

GO = """#!/bin/sh
set -eu
echo "$@" >>"$TOOLS_LOG"
case "$1" in
version) echo "go version go1.99.0 linux/amd64" ;;
list)
    shared="$GOMODCACHE/example.test/shared"
    case "$*" in
    *-m*) printf '%s\n' "$shared" ;;
    *)
        if [ ! -e "$shared" ]; then
            mkdir -p "$shared/config" "$shared/a/texts" "$shared/unused" \
                "$GOMODCACHE/cache/download/a/@v"
            touch "$shared/config/file" "$shared/a/a.go" "$shared/a/texts/text.go" \
                "$shared/unused/unused.go" "$GOMODCACHE/cache/download/a/@v/v1.zip"
            case "$GOFLAGS" in *-modcacherw*) ;; *) chmod -R a-w "$shared" ;; esac
        fi
        printf '{"ImportPath": "a", "Name": "a", "Dir": "%s", "GoFiles": ["a.go"],' "$shared/a"
        printf ' "EmbedFiles": ["texts/text.go"]}\n'
        printf '{"ImportPath": "b", "Name": "b", "Dir": "."}\n'
        printf '{"ImportPath": "main", "Name": "main", "Dir": "."}\n'
        ;;
    esac
    ;;
build)
    mkdir -p "$GOCACHE"
    shift 5
    out=
    if [ "$1" = -o ]; then out=$2; set -- a b main; fi
    for package in "$@"; do
        [ -e "$GOCACHE/$package" ] && continue
        [ "$package" = main ] && while [ -e "$TOOLS_HANG" ]; do sleep 0.05; done
        if [ -e "$TOOLS_FAIL" ]; then echo "main.go:1: undefined: x" >&2; exit 1; fi
        echo "$package" >&2
        touch "$GOCACHE/$package"
    done
    if [ "$out" ]; then echo binary >"$out/main"; fi
    ;;
esac
"""


class Workshop:
    """A cache and a stand-in Go with switches."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        self.hang = folder / "hang"
        self.fail = folder / "fail"
        self.log = folder / "log"
        self.log.touch()
        self.output = io.StringIO()
        module = folder / "module"
        module.mkdir()
        (module / "go.mod").write_text("module example.test\n\ngo 1.26.6\n")
        self.build = Build(
            Recipe(
                name="tools",
                module=module,
                commands={"main": "./main"},
                linker_flags="-s",
                needed_gb=0.0,
                shared={"example.test/shared": "config"},
            ),
            self.cache,
        )

    def ensure(self) -> Path:
        return self.build.ensure(frozenset({"main"}), Lines("tools", self.output))

    def calls(self, verb: str) -> int:
        return sum(line.startswith(verb) for line in self.log.read_text().splitlines())


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    workshop = Workshop(tmp_path)
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TOOLS_LOG", str(workshop.log))
    monkeypatch.setenv("TOOLS_HANG", str(workshop.hang))
    monkeypatch.setenv("TOOLS_FAIL", str(workshop.fail))
    return workshop


def test_a_build_leaves_the_binary_and_the_modules_own_files_and_nothing_else(
    workshop: Workshop,
) -> None:
    folder = workshop.ensure()
    left = {str(path.relative_to(folder.parent)) for path in folder.parent.rglob("*")}
    config = {"share", "share/shared", "share/shared/config", "share/shared/config/file"}
    assert left == {"bin", "bin/main"} | config
    assert not workshop.build.work.exists()
    assert "main built in 0:0" in workshop.output.getvalue()


def test_what_is_built_is_not_built_again(workshop: Workshop) -> None:
    workshop.ensure()
    calls = workshop.log.read_text()
    workshop.ensure()
    assert workshop.log.read_text() == calls


def test_what_the_build_never_reads_takes_no_disk_while_it_compiles(workshop: Workshop) -> None:
    workshop.fail.touch()
    with pytest.raises(ToolchainError):
        workshop.ensure()
    modules = workshop.build.work / "modules"
    assert {path.name for path in modules.rglob("*") if path.is_file()} == {
        "a.go",
        "text.go",
        "file",
    }


@pytest.mark.parametrize(
    ("sizes", "count", "lists"),
    [
        ({"a": 1, "b": 1, "c": 1, "d": 1}, 2, [["a", "b"], ["c", "d"]]),
        ({"a": 3, "b": 1, "c": 1, "d": 1}, 2, [["a"], ["b", "c", "d"]]),
        ({"a": 1, "b": 9}, 3, [["a", "b"]]),
        ({"a": 1}, 12, [["a"]]),
        ({}, 12, []),
    ],
)
def test_batches_keep_the_order_and_are_of_about_the_same_size(
    sizes: dict[str, int], count: int, lists: list[list[str]]
) -> None:
    assert batches(sizes, count) == lists


def test_a_failed_build_says_what_the_compiler_said_and_installs_nothing(
    workshop: Workshop,
) -> None:
    workshop.fail.touch()
    with pytest.raises(ToolchainError, match=r"main\.go:1: undefined: x"):
        workshop.ensure()
    assert workshop.build.missing(frozenset({"main"})) == ["main"]


def test_too_small_a_disk_is_found_before_anything_runs(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_module, "free_gb", lambda _: -1.0)
    with pytest.raises(ToolchainError, match="not enough disk"):
        workshop.ensure()
    assert workshop.log.read_text() == ""


def hangs(workshop: Workshop) -> bool:
    """Whether the call of the compiler that will hang has begun."""
    return workshop.calls("build -v") == 3


def _start_and_hang(workshop: Workshop) -> subprocess.Popen[bytes]:
    """Start the build in another process and return when it hangs before its last package."""
    workshop.hang.touch()
    recipe = workshop.build.recipe
    code = f"""
from pathlib import Path
from rehearsal.toolchain.build import Build
from rehearsal.toolchain.progress import Lines
from rehearsal.toolchain.recipe import Recipe
recipe = Recipe(name={recipe.name!r}, module=Path({str(recipe.module)!r}),
    commands={recipe.commands!r}, linker_flags="-s", needed_gb=0.0, shared={recipe.shared!r})
Build(recipe, Path({str(workshop.cache)!r})).ensure(frozenset({{"main"}}), Lines("tools"))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    remembered = workshop.build.work / "compiled-packages"
    tick = threading.Event()
    # Also begun: between two calls of the compiler nobody but the build holds the lock.
    while not (remembered.exists() and "b" in remembered.read_text() and hangs(workshop)):
        assert process.poll() is None
        tick.wait(0.02)
    return process


def test_a_killed_build_goes_on_where_it_was(workshop: Workshop) -> None:
    process = _start_and_hang(workshop)
    process.kill()
    process.wait()
    workshop.hang.unlink()
    workshop.ensure()
    assert (workshop.build.installed / "bin" / "main").exists()
    assert "interrupted build at 60%, 2 of 3 packages" in workshop.output.getvalue()


def test_two_builds_of_the_same_tools_never_run_at_once(workshop: Workshop) -> None:
    process = _start_and_hang(workshop)
    second = threading.Thread(target=workshop.ensure)
    second.start()
    tick = threading.Event()
    while "waiting for it" not in workshop.output.getvalue():
        assert second.is_alive()
        tick.wait(0.02)
    assert hangs(workshop)
    workshop.hang.unlink()
    second.join()
    process.wait()
    assert process.returncode == 0
    assert workshop.calls("build -v") == 3


def test_the_lock_of_a_killed_build_is_held_until_its_compiler_has_ended(
    workshop: Workshop,
) -> None:
    process = _start_and_hang(workshop)
    process.kill()
    process.wait()
    path = workshop.cache / f"build-{workshop.build.recipe.key()}.lock"
    with path.open("w") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    workshop.hang.unlink()
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
