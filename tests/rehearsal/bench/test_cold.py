import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rehearsal.bench.cold import cold, empty_caches
from rehearsal.bench.commands import BenchError
from rehearsal.toolchain.folder import OVERRIDE

pytestmark = pytest.mark.skipif(
    not (shutil.which("make") and shutil.which("git")), reason="make or git is not installed"
)

DEMO = """\
demo:
\t@echo python: making .venv
\t@echo plan of stack rehearsal, from the program itself
\t@mkdir -p "$$REHEARSAL_CACHE" && head -c 20000000 /dev/zero > "$$REHEARSAL_CACHE/tools"
"""

Checkout = Callable[[str], Path]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """Makes a repository with one Makefile; temporary folders are made in `temporary`."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    def make(makefile: str) -> Path:
        source = tmp_path / "source"
        git = ["git", "-C", str(source), "-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", "init", "--quiet", str(source)], check=True)
        (source / "Makefile").write_text(makefile)
        subprocess.run([*git, "add", "Makefile"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", "Begin"], check=True)
        return source

    return make


def test_a_cold_demo_tells_its_figures_and_leaves_nothing(
    checkout: Checkout, tmp_path: Path
) -> None:
    figures = dict(cold(1, checkout(DEMO)))
    assert sorted(figures) == ["cold-demo", "cold-first-line", "cold-left", "cold-peak"]
    assert 0 < figures["cold-first-line"] <= figures["cold-demo"] < 60
    assert 0.02 <= figures["cold-left"] < 0.03
    assert list((tmp_path / "temporary").iterdir()) == []


def test_only_the_plan_is_a_useful_line(checkout: Checkout, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"(?s)failed.*making"):
        list(cold(1, checkout("demo:\n\t@echo python: making .venv\n")))
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_cold_demo_that_fails_is_an_error_with_its_last_lines(
    checkout: Checkout, tmp_path: Path
) -> None:
    with pytest.raises(BenchError, match=r"(?s)failed.*no disk"):
        list(cold(1, checkout(DEMO + "\t@echo no disk; exit 1\n")))
    assert list((tmp_path / "temporary").iterdir()) == []


def test_every_cache_of_a_cold_demo_begins_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (
        *("XDG_CACHE_HOME", "REHEARSAL_CACHE", "PIP_CACHE_DIR", "UV_CACHE_DIR"),
        *("GOCACHE", "GOMODCACHE", "GOPATH", "TMPDIR"),
    )
    for name in (*names, OVERRIDE):
        monkeypatch.setenv(name, "/filled/before")
    environment = empty_caches(tmp_path)
    assert "/filled/before" not in environment.values()
    assert {name: environment[name].startswith(str(tmp_path)) for name in names} == dict.fromkeys(
        names, True
    )
