"""The key names everything that decides what a binary is, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from rehearsal.toolchain.recipe import CONTROL_PLANE, KUBERNETES_PLUGIN, Recipe


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    (tmp_path / "go.mod").write_text("module example.test/m\n\ngo 1.26.6\n")
    (tmp_path / "go.sum").write_text("a\n")
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "main.go").write_text("package main\n")
    return Recipe(
        name="tools",
        module=tmp_path,
        commands={"one": "./one"},
        linker_flags="-s",
        needed_gb=1,
        shared={},
    )


@pytest.mark.parametrize("changed", ["go.mod", "go.sum", "one/main.go"])
def test_a_changed_source_is_another_build(recipe: Recipe, changed: str) -> None:
    before = recipe.key()
    path = recipe.module / changed
    path.write_text(path.read_text() + "// more\n")
    assert recipe.key() != before


def test_changed_flags_are_another_build(recipe: Recipe) -> None:
    assert replace(recipe, linker_flags="-s -w").key() != recipe.key()


def test_a_changed_command_is_another_build(recipe: Recipe) -> None:
    assert replace(recipe, commands={"one": "./two"}).key() != recipe.key()


def test_another_platform_is_another_build(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe.key()
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert recipe.key() != before


def test_a_note_beside_the_sources_is_the_same_build(recipe: Recipe) -> None:
    before = recipe.key()
    (recipe.module / "notes.md").write_text("why\n")
    assert recipe.key() == before


def test_the_same_sources_elsewhere_are_the_same_build(recipe: Recipe, tmp_path: Path) -> None:
    before = recipe.key()
    elsewhere = recipe.module.rename(tmp_path.with_name(f"{tmp_path.name}-moved"))
    assert replace(recipe, module=elsewhere).key() == before


@pytest.mark.parametrize("recipe", [CONTROL_PLANE, KUBERNETES_PLUGIN], ids=lambda r: r.name)
def test_our_modules_say_the_go_they_need(recipe: Recipe) -> None:
    assert recipe.go_version() >= (1, 26)


def test_the_engine_reports_the_version_of_its_module() -> None:
    go_mod = (CONTROL_PLANE.module / "go.mod").read_text()
    version = CONTROL_PLANE.linker_flags.partition("version.Version=")[2].split()[0]
    assert f"github.com/pulumi/pulumi/pkg/v3 v{version}" in go_mod


def test_the_api_server_reports_the_version_of_its_module() -> None:
    go_mod = (CONTROL_PLANE.module / "go.mod").read_text()
    version = CONTROL_PLANE.linker_flags.partition("version.gitVersion=")[2].split()[0]
    assert f"k8s.io/kubernetes {version}" in go_mod
