"""The environment in which plain `pulumi`, `kubectl` and Google's clients reach one local cloud.

`eval "$(make -s env)"` puts it into a shell.
"""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from rehearsal.cloud.ports import home_ports
from rehearsal.toolchain import folder as toolchain

CHECKOUT = Path(__file__).resolve().parent.parent

# `real` puts Pulumi's own Kubernetes plugin before the double; `make test-full` builds it.
KUBERNETES_PLUGIN = "REHEARSAL_KUBERNETES"

# The state never leaves the machine and holds no real secret, so a constant guards it as well as
# any other; the stack files' encryption salts belong to it.
PASSPHRASE = "rehearsal"

LOOPBACK = "127.0.0.1,localhost"


def default_home() -> Path:
    """Return `$REHEARSAL_HOME`, else the checkout's own `.rehearsal`."""
    return Path(os.environ.get("REHEARSAL_HOME") or CHECKOUT / ".rehearsal").absolute()


def variables(home: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables to set for commands on the local cloud of `home`.

    Args:
        home: the folder of the local cloud; its ports are chosen here if it has none yet.
        base: the environment they are added to (its PATH and NO_PROXY are extended); the
            process's own by default.
    """
    base = os.environ if base is None else base
    home = home.absolute()
    return {
        "PATH": _path(base),
        "PULUMI_HOME": str(home / "pulumi"),
        "PULUMI_BACKEND_URL": f"file://{home / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        # A plugin that is not on PATH is an error of ours, never a download.
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "REHEARSAL_HOME": str(home),
        "REHEARSAL_PYTHON": sys.executable,
        # A command starts five Python processes; compiling what they import each time anew takes
        # two thirds of it. Empty means that Python keeps what it has compiled.
        "PYTHONDONTWRITEBYTECODE": "",
        "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{home_ports(home)['gcs']}",
        "KUBECONFIG": str(home / "kubeconfig"),
        "NO_PROXY": _joined(",", LOOPBACK, base.get("NO_PROXY", "")),
        "no_proxy": _joined(",", LOOPBACK, base.get("no_proxy", "")),
    }


def prepare(home: Path) -> None:
    """Make the home, for its owner only, and the folders that the file backend and CLI expect."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("state", "pulumi"):
        (home / name).mkdir(parents=True, exist_ok=True)


def exports(values: Mapping[str, str]) -> str:
    """Return the variables as lines that a POSIX shell evaluates."""
    return "\n".join(f"export {key}={shlex.quote(value)}" for key, value in values.items())


def _path(base: Mapping[str, str]) -> str:
    """Return PATH with our executables first, without adding them twice in a nested shell."""
    first = [CHECKOUT / "rehearsal" / "bin", toolchain.bin_folder()]
    if base.get(KUBERNETES_PLUGIN) == "real":
        first.insert(0, toolchain.kubernetes_plugin_folder())
    ours = [str(path) for path in first]
    rest = [part for part in base.get("PATH", os.defpath).split(os.pathsep) if part not in ours]
    return os.pathsep.join([*ours, *rest])


def _joined(separator: str, ours: str, theirs: str) -> str:
    if not theirs or theirs == ours or theirs.startswith(ours + separator):
        return theirs or ours
    return f"{ours}{separator}{theirs}"
