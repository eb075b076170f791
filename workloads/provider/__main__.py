"""Start the plugin, or say which command installs what it lacks."""

import sys
from importlib.util import find_spec
from pathlib import Path

_PACKAGES = {
    "pulumi": "pulumi",
    "grpc": "pulumi",
    "kubernetes": "kubernetes",
    "urllib3": "kubernetes",
    "google.cloud.storage": "google-cloud-storage",
}


def missing() -> list[str]:
    """Return the packages that this interpreter lacks."""
    return sorted({package for module, package in _PACKAGES.items() if not _there(module)})


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False  # a parent package of it is missing


def main() -> None:
    """Check the interpreter, then hand over to the plugin."""
    requirements = Path(__file__).resolve().parents[2] / "requirements.txt"
    if lacking := missing():
        sys.exit(
            f"maxtext provider: {sys.executable} lacks {', '.join(lacking)}. "
            f"Run: {sys.executable} -m pip install -r {requirements}"
        )
    from workloads.provider.plugin import main as start

    start(sys.argv[1:])


if __name__ == "__main__":
    main()
