"""Where the built tools are: what the environment, the local cloud and the tests ask."""

import os
from pathlib import Path

from rehearsal.cache import cache_folder
from rehearsal.toolchain.build import Build
from rehearsal.toolchain.failure import ToolchainError
from rehearsal.toolchain.installed import installed_pulumi
from rehearsal.toolchain.progress import Lines
from rehearsal.toolchain.recipe import CONTROL_PLANE, KUBERNETES_PLUGIN, Recipe

# Names a folder of ready binaries that are used as they are, whatever the cache holds.
OVERRIDE = "REHEARSAL_TOOLCHAIN"


def bin_folder() -> Path:
    """Return the folder of `kube`, `jobset` and (unless installed) `pulumi`; it may not be there.

    `$REHEARSAL_TOOLCHAIN` overrides it.
    """
    chosen = os.environ.get(OVERRIDE)
    return Path(chosen).absolute() if chosen else _build(CONTROL_PLANE).installed / "bin"


def share_folder() -> Path:
    """Return the folder that holds the modules' own files, such as `jobset/config`."""
    return bin_folder().parent / "share"


def kubernetes_plugin_folder() -> Path:
    """Return the folder of Pulumi's own Kubernetes plugin; it is there after `make test-full`."""
    return _build(KUBERNETES_PLUGIN).installed / "bin"


def is_complete() -> bool:
    """Return whether everything the rehearsal runs is there, so that nothing would be built."""
    folder = bin_folder()
    return all((folder / name).exists() for name in wanted())


def has_kubernetes_plugin() -> bool:
    """Return whether Pulumi's own Kubernetes plugin has been built."""
    return not _build(KUBERNETES_PLUGIN).missing(frozenset(KUBERNETES_PLUGIN.commands))


def wanted() -> frozenset[str]:
    """Return the binaries that have to be built: all that no installed one stands for."""
    built = frozenset(CONTROL_PLANE.commands)
    return built - {"pulumi"} if installed_pulumi(without=cache_folder()) else built


def ensure(lines: Lines) -> Path:
    """Make sure that the tools are there and return their folder.

    Raises:
        ToolchainError: if a chosen folder lacks a binary, or as `Build.ensure`.
    """
    if os.environ.get(OVERRIDE):
        absent = [name for name in sorted(wanted()) if not (bin_folder() / name).exists()]
        if absent:
            raise ToolchainError(
                f"{OVERRIDE}={bin_folder()} lacks {', '.join(absent)}: put them there or unset it"
            )
        return bin_folder()
    return _build(CONTROL_PLANE).ensure(wanted(), lines)


def ensure_kubernetes_plugin(lines: Lines) -> Path:
    """Make sure that Pulumi's own Kubernetes plugin is there and return its folder.

    Raises:
        ToolchainError: as `Build.ensure`.
    """
    return _build(KUBERNETES_PLUGIN).ensure(frozenset(KUBERNETES_PLUGIN.commands), lines)


def _build(recipe: Recipe) -> Build:
    return Build(recipe, cache_folder())
