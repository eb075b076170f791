"""What is built from Go modules: sources, versions, flags and the key that names the result."""

import hashlib
import platform
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent

PULUMI_VERSION = "3.274.1"
KUBERNETES_VERSION = "1.37.2"

# No DWARF: nobody debugs these binaries, and it is a sixth of the build cache. Without inlining
# (`-l`) the build would take an eighth less, once, but every command starts half as slow again.
COMPILER_FLAGS = "all=-dwarf=false"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One Go module and the commands that are built from it into one folder."""

    name: str
    module: Path
    commands: dict[str, str]
    """Package to build for each binary's name."""
    linker_flags: str
    needed_gb: float
    """Free disk that a build from nothing needs: module cache, build cache and binaries."""
    shared: dict[str, str]
    """Module -> folder inside it that is copied to `share/<last part of the module>/<folder>`."""

    def key(self) -> str:
        """Return the short digest of everything that decides what the binaries are."""
        digest = hashlib.sha256(f"{platform.system()} {platform.machine()}\n".encode())
        for part in (COMPILER_FLAGS, self.linker_flags, *sorted(self.commands.items())):
            digest.update(f"{part}\n".encode())
        for path in sorted(self.module.rglob("*")):
            if path.name in {"go.mod", "go.sum"} or path.suffix == ".go":
                digest.update(f"{path.relative_to(self.module)}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:12]

    def go_version(self) -> tuple[int, ...]:
        """Return the oldest Go that builds this module, as its `go` line says."""
        for line in (self.module / "go.mod").read_text().splitlines():
            words = line.split()
            if words[:1] == ["go"]:
                return tuple(int(part) for part in words[1].split("."))
        raise ValueError(f"{self.module / 'go.mod'} has no `go` line")


def _kubernetes_version_flags(version: str) -> str:
    """Return the linker flags without which the API server reports v0.0.0 and clients refuse it."""
    major, minor, _ = version.split(".")
    package = "k8s.io/component-base/version"
    return (
        f"-X {package}.gitVersion=v{version} -X {package}.gitMajor={major}"
        f" -X {package}.gitMinor={minor}"
    )


CONTROL_PLANE = Recipe(
    name="toolchain",
    module=TOOLS / "tools",
    commands={
        "kube": "./kube",
        "jobset": "sigs.k8s.io/jobset",
        "pulumi": "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    },
    linker_flags="-s -w "
    f"-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version={PULUMI_VERSION} "
    + _kubernetes_version_flags(KUBERNETES_VERSION),
    needed_gb=6.5,
    shared={"sigs.k8s.io/jobset": "config"},
)

KUBERNETES_PLUGIN = Recipe(
    name="toolchain-kubernetes-plugin",
    module=TOOLS / "tools-kubernetes",
    commands={"pulumi-resource-kubernetes": "./pulumi-resource-kubernetes"},
    linker_flags="-s -w",
    needed_gb=6.5,
    shared={},
)
