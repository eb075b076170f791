"""The rules of the layers: what may import what, who talks to the engine, what stays pure."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

PURE = [
    "infra/config.py",
    "infra/fields.py",
    "infra/kubeconfig.py",
    "infra/labels.py",
    "infra/names.py",
    "infra/prices.py",
    "infra/problems.py",
    "infra/token.py",
    "infra/tpu.py",
    "workloads/config.py",
    "workloads/configdoc.py",
    "workloads/experiment.py",
    "workloads/jobset.py",
    "workloads/models.py",
    "workloads/outputs.py",
    "workloads/sizes.py",
    "workloads/stage.py",
    "workloads/stages.py",
    "workloads/provider/diagnosis.py",
    "workloads/provider/digest.py",
    "workloads/provider/progress.py",
]
IMPURE = {"pulumi", "pulumi_gcp", "pulumi_kubernetes", "kubernetes", "google", "grpc"}
PRODUCT = sorted([*ROOT.glob("infra/*.py"), *ROOT.glob("workloads/**/*.py"), ROOT / "__main__.py"])


def imports(path: Path) -> set[str]:
    """Return the modules a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def reached(path: Path, seen: set[Path] | None = None) -> set[str]:
    """Return what a file imports, also through our own modules."""
    seen = set() if seen is None else seen
    if path in seen:
        return set()
    seen.add(path)
    found = imports(path)
    for module in list(found):
        ours = ROOT / f"{module.replace('.', '/')}.py"
        if module.split(".")[0] in ("infra", "workloads") and ours.exists():
            found |= reached(ours, seen)
    return found


def tops(modules: set[str]) -> set[str]:
    """Return the top-level packages of modules."""
    return {module.split(".")[0] for module in modules}


@pytest.mark.parametrize("name", PURE)
def test_a_pure_module_needs_no_engine_no_cluster_and_no_cloud(name: str) -> None:
    assert not tops(reached(ROOT / name)) & IMPURE


def test_infra_never_imports_workloads() -> None:
    for path in ROOT.glob("infra/*.py"):
        assert "workloads" not in tops(imports(path)), path.name


def test_nothing_of_the_product_imports_the_rehearsal_or_the_tests() -> None:
    for path in PRODUCT:
        assert not tops(imports(path)) & {"rehearsal", "tests"}, path


def test_the_provider_and_the_program_meet_only_at_the_engine() -> None:
    for path in ROOT.glob("workloads/provider/*.py"):
        theirs = {name for name in imports(path) if name.startswith(("workloads", "infra"))}
        assert all(name.startswith("workloads.provider") for name in theirs), path.name
    for path in [*ROOT.glob("workloads/*.py"), *ROOT.glob("infra/*.py"), ROOT / "__main__.py"]:
        assert not any("provider" in name for name in imports(path)), path.name


def test_only_the_main_program_reads_config_and_exports() -> None:
    for path in PRODUCT:
        if path.name == "__main__.py" and path.parent == ROOT:
            continue
        text = path.read_text()
        assert "pulumi.Config" not in text, path
        assert "pulumi.export" not in text, path
        assert "get_stack" not in text, path


def test_the_main_program_is_40_lines_without_a_branch_or_a_loop() -> None:
    text = (ROOT / "__main__.py").read_text()
    assert len(text.splitlines()) <= 40
    branches = (ast.If, ast.For, ast.While, ast.IfExp, ast.Try, ast.ListComp, ast.FunctionDef)
    assert not [node for node in ast.walk(ast.parse(text)) if isinstance(node, branches)]


@pytest.mark.parametrize("package", ["pulumi_gcp.compute", "pulumi_kubernetes.core.v1"])
def test_packages_that_cost_seconds_of_every_preview_are_not_imported(package: str) -> None:
    for path in PRODUCT:
        assert not any(name.startswith(package) for name in imports(path)), path


def test_no_rehearsal_shows_in_the_product() -> None:
    for path in PRODUCT:
        assert "rehearsal" not in path.read_text().lower(), path
