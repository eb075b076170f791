"""Where the control plane's programs and manifests are."""

from __future__ import annotations

from pathlib import Path

from rehearsal.cloud.model import CloudError
from rehearsal.toolchain import folder as toolchain


def kube(program: str) -> list[str]:
    """Return the command of a control-plane program: one binary holds them all."""
    return [str(_existing(toolchain.bin_folder() / "kube")), program]


def jobset() -> str:
    """Return the JobSet controller's executable."""
    return str(_existing(toolchain.bin_folder() / "jobset"))


def jobset_config() -> Path:
    """Return the folder of the JobSet module's own manifests (`config/` of its source)."""
    return _existing(toolchain.share_folder() / "jobset" / "config")


def _existing(path: Path) -> Path:
    if not path.exists():
        raise CloudError(
            "FAILED_PRECONDITION",
            f"{path} is missing; run `make setup`, or set REHEARSAL_TOOLCHAIN to a folder that "
            "holds kube and jobset",
        )
    return path
