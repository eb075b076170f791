import ast
from pathlib import Path

from rehearsal.bench.previews import empty_program, sdk_imports
from rehearsal.environment import CHECKOUT


def test_only_what_a_module_imports_of_the_sdks_is_imported(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "import json\nimport pulumi\nfrom pulumi_gcp.storage import Bucket\n"
        "from infra.names import namespace_of\nfrom . import sibling\n"
        "def late():\n    from pulumi_gcp.compute import Network\n"
    )
    other = tmp_path / "other.py"
    other.write_text("import pulumi\n")
    assert sdk_imports([module, other]) == [
        "from pulumi_gcp.storage import Bucket",
        "import pulumi",
    ]


def test_the_empty_program_imports_our_classes_and_declares_nothing(tmp_path: Path) -> None:
    folder = empty_program(tmp_path / "empty")
    body = ast.parse((folder / "__main__.py").read_text()).body
    assert all(isinstance(node, ast.Import | ast.ImportFrom) for node in body)
    text = (folder / "__main__.py").read_text()
    for file in CHECKOUT.glob("infra/*.py"):
        for line in file.read_text().splitlines():
            if line.startswith("from pulumi_gcp") and not line.endswith("("):
                assert line in text
    assert (folder / ".venv" / "bin").is_dir()
