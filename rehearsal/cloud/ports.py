"""Ports and the bearer token of a home, chosen once so that everything written down stays true."""

from __future__ import annotations

import fcntl
import json
import os
import random
import secrets
import socket
from collections.abc import Iterable
from pathlib import Path

NAMES = ("cloud", "gcs", "gcs_tls", "hub")
# Below Linux' range for outgoing connections (32768 up): a port recorded today is not taken
# tomorrow by somebody's short-lived client socket.
CANDIDATES = range(18000, 32000)


def is_free(port: int) -> bool:
    """Tell whether nobody listens on a loopback port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """Return a different free loopback port for each name."""
    chosen: dict[str, int] = {}
    for name in names:
        port = next(
            candidate
            for candidate in iter(lambda: random.choice(CANDIDATES), None)
            if candidate not in chosen.values() and is_free(candidate)
        )
        chosen[name] = port
    return chosen


def home_ports(home: Path) -> dict[str, int]:
    """Return the home's ports from `ports.json`; the first caller chooses and writes them."""
    path = home / "ports.json"
    with _locked(home):
        if not path.exists():
            _write_private(path, json.dumps(free_ports(NAMES), indent=2) + "\n")
        ports: dict[str, int] = json.loads(path.read_text())
    return ports


def home_token(home: Path) -> str:
    """Return the home's bearer token, for the daemon and for every cluster's API server."""
    path = home / "token"
    with _locked(home):
        if not path.exists():
            _write_private(path, secrets.token_urlsafe(32))
        return path.read_text()


class _locked:  # noqa: N801 - reads as the statement it is
    """Hold the home's lock for choices that two processes could make at once."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = home / "choices.lock"

    def __enter__(self) -> None:
        self._file = self._path.open("a")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _write_private(path: Path, text: str) -> None:
    draft = path.with_name(path.name + ".draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.rename(path)
