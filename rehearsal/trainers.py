"""Which trainer a pod of the local cloud runs, and the variables that make it run here.

The program's pods are what GKE would get. What differs on one machine (no TPU, another object
store, another Hub, a tiny model) is added by the node, here and nowhere else.
"""

import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rehearsal import maxtext_environment, maxtext_settings, objectstore

REAL_PROJECT = "rehearsal-maxtext"
_STAND_IN = Path(__file__).parent / "trainer"
# Its `python3` is the environment's own; it sends the compile cache to a folder of this machine.
_MAXTEXT_BIN = Path(__file__).parent / "maxtext_bin"
# Nothing here may answer as the metadata server of a VM: look-ups have to fail at once.
_NOWHERE = "127.0.0.1:1"


def pod_environment(
    home: Path, project: str, pod: dict[str, Any], coordinator_port: int
) -> dict[str, str | None]:
    """Return the variables of one container that win over the manifest's; None takes one away.

    `coordinator_port` is free on this machine and the same for all pods of one Job.
    """
    environment = maxtext_environment.environment() if project == REAL_PROJECT else None
    ports = json.loads((home / "ports.json").read_text())
    shared = _object_store(ports) | _hub(home, ports)
    if environment is None:
        return shared | _stand_in(home, pod, coordinator_port)
    return shared | _maxtext(home, environment, ports, pod, coordinator_port)


def trainer(project: str) -> str:
    """Return the name of what a project's pods run: "MaxText" or "stand-in"."""
    real = project == REAL_PROJECT and maxtext_environment.environment() is not None
    return "MaxText" if real else "stand-in"


def _object_store(ports: dict[str, int]) -> dict[str, str | None]:
    address = f"http://127.0.0.1:{ports['gcs']}"
    return {
        "STORAGE_EMULATOR_HOST": address,
        # gcsfs (through fsspec and etils.epath) asks for credentials even of an emulator.
        "FSSPEC_GCS_TOKEN": "anon",
        "FSSPEC_GS_TOKEN": "anon",
        "TENSORSTORE_GCS_HTTP_URL": address,
        "GOOGLE_AUTH_TOKEN_FOR_TESTING": "rehearsal",
        "NO_GCE_CHECK": "true",
        "GCE_METADATA_HOST": _NOWHERE,
        "GCE_METADATA_ROOT": _NOWHERE,
        "GCE_METADATA_IP": _NOWHERE,
        "GOOGLE_APPLICATION_CREDENTIALS": None,
    }


def _hub(home: Path, ports: dict[str, int]) -> dict[str, str | None]:
    return {
        "HF_ENDPOINT": f"http://127.0.0.1:{ports['hub']}",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HOME": str(home / "huggingface"),
    }


def _stand_in(home: Path, pod: dict[str, Any], coordinator_port: int) -> dict[str, str | None]:
    return {
        "PATH": _path(Path(sys.executable).parent),
        "PYTHONPATH": str(_STAND_IN),
        "REHEARSAL_TRAINER": str(home / "trainer.json"),
        "REHEARSAL_COORDINATOR": f"127.0.0.1:{coordinator_port}",
        "REHEARSAL_HOSTS": str(_hosts(pod)),
        "REHEARSAL_TERMINATION_LOG": "/dev/termination-log",
    }


def _maxtext(
    home: Path,
    environment: Path,
    ports: dict[str, int],
    pod: dict[str, Any],
    coordinator_port: int,
) -> dict[str, str | None]:
    return {
        "PATH": _path(_MAXTEXT_BIN),
        "REHEARSAL_MAXTEXT_PYTHON": str(environment / "bin" / "python3"),
        "REHEARSAL_COMPILE_CACHE": str(maxtext_settings.compile_cache()),
        "PYTHONPATH": None,
        "PYTHONDONTWRITEBYTECODE": None,
        "JAX_PLATFORMS": "cpu",
        "LIBTPU_INIT_ARGS": None,
        "EPATH_USE_TF": "false",
        "MAXTEXT_CONFIGS_DIR": str(maxtext_settings.configs_folder(environment)),
        **maxtext_settings.overrides(arguments(pod)),
        **_profiler(home, ports),
        **_coordinator(pod, coordinator_port),
    }


def _profiler(home: Path, ports: dict[str, int]) -> dict[str, str | None]:
    """Return the way of the XLA profiler; it concerns https alone, and all else here is http."""
    return {
        "HTTPS_PROXY": f"http://127.0.0.1:{ports['gcs_tls']}",
        "CURL_CA_BUNDLE": str(objectstore.certificate_authority(home)),
        "NO_PROXY": "127.0.0.1,localhost",
        # The lower-case names win over the upper-case ones, and gRPC reads only these.
        **dict.fromkeys(("https_proxy", "http_proxy", "no_proxy", "all_proxy", "HTTP_PROXY")),
    }


def _coordinator(pod: dict[str, Any], port: int) -> dict[str, str | None]:
    """Return what JAX needs to meet its peers where MaxText fixes the port to 1234.

    Each Job gets a loopback address of its own (all of 127/8 is the machine itself), derived from
    a port that is its own: two runs at once do not meet.
    """
    address = f"127.64.{port // 256}.{port % 256}"
    if sys.platform != "linux":
        address = "127.0.0.1"
    hosts = str(_hosts(pod))
    return {
        "JAX_COORDINATOR_ADDRESS": address,
        "JAX_COORDINATOR_BIND_ADDRESS": f"{address}:1234",
        "PROCESSES_IN_JOB": hosts,
        "JAX_PROCESS_COUNT": hosts,
        "JOB_INDEX": "0",
    }


def _path(first: Path) -> str:
    return os.pathsep.join([str(first), os.environ.get("PATH", os.defpath)])


def _hosts(pod: dict[str, Any]) -> int:
    """Return how many pods form one slice: its topology over the chips that this pod asks for.

    A pod without chips (a conversion) is alone, also on a host of the slice.
    """
    limits = pod["spec"]["containers"][0].get("resources", {}).get("limits", {})
    chips_per_host = int(limits.get("google.com/tpu", 0))
    topology = (pod["spec"].get("nodeSelector") or {}).get("cloud.google.com/gke-tpu-topology")
    if not chips_per_host or not topology:
        return 1
    return max(math.prod(int(side) for side in topology.split("x")) // chips_per_host, 1)


def arguments(pod: dict[str, Any]) -> set[str]:
    """Return the names of all `key=value` arguments of a pod's commands."""
    return set(_keys(pod))


def _keys(pod: dict[str, Any]) -> Iterator[str]:
    for container in pod["spec"]["containers"]:
        words = " ".join([*container.get("command", []), *container.get("args", [])]).split()
        yield from (word.split("=", 1)[0] for word in words if "=" in word)
