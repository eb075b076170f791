"""The processes that one owner starts, so that it can end them all and knows them by name."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from ssl import SSLContext

from rehearsal.cloud.lifetime import dies_with_parent, kill_group
from rehearsal.cloud.model import CloudError

# One thread for the life of the program starts everything: the parent-death signal follows the
# thread that forked, and request threads come and go.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starter")
_KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "PYTHONPATH",
    "XDG_CACHE_HOME",
    "REHEARSAL_CACHE",
    "REHEARSAL_TOOLCHAIN",
    "REHEARSAL_PYTHON",
)


def base_environment() -> dict[str, str]:
    """Return the variables that the cloud's own programs may see: no secrets, no proxies."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}


def start_process(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path,
    output: int,
) -> subprocess.Popen[bytes]:
    """Start a command as leader of its own session that is killed with this program.

    `output` is a file descriptor or `subprocess.PIPE`, for both streams.
    """

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            list(command),
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=dies_with_parent(),
        )

    return _STARTER.submit(start).result()


class ProcessTable:
    """Named background processes with a log file each."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def start(self, name: str, command: Sequence[str], *, directory: Path) -> None:
        """Start a command; its output goes to `<logs>/<name>.log`."""
        with open(self._logs / f"{name}.log", "ab") as log:
            process = start_process(
                command,
                environment=base_environment(),
                directory=directory,
                output=log.fileno(),
            )
        with self._lock:
            self._running[name] = process
        threading.Thread(target=self._tell_of_end, args=(name, process), daemon=True).start()

    def pids(self) -> dict[str, int]:
        """Return the process id of each process that has not ended."""
        with self._lock:
            return {name: p.pid for name, p in self._running.items() if p.poll() is None}

    def wait_ready(
        self,
        name: str,
        url: str,
        *,
        context: SSLContext | None = None,
        timeout_seconds: float = 60,
    ) -> None:
        """Return when a process answers 200 at a URL.

        Raises CloudError with the end of its log when it ends first or takes too long.
        """
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=context),
        )
        process = self._running[name]
        attempts = int(timeout_seconds / 0.03)
        for _ in range(attempts):
            try:
                with opener.open(url, timeout=2):
                    return
            except (OSError, urllib.error.URLError):
                # Readiness of a foreign program has no other sign; its end is waited for.
                try:
                    process.wait(timeout=0.03)
                except subprocess.TimeoutExpired:
                    continue
            break
        raise CloudError("INTERNAL", f"{name} did not become ready: {self._last_lines(name)}")

    def stop(self, names: Sequence[str] | None = None) -> None:
        """Kill processes with their groups and return when they are gone."""
        with self._lock:
            chosen = [n for n in self._running if names is None or n in names]
            processes = [self._running.pop(name) for name in chosen]
        for process in processes:
            kill_group(process.pid, signal.SIGKILL)
        for process in processes:
            process.wait()

    def _tell_of_end(self, name: str, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        with self._lock:
            unasked = self._running.get(name) is process
        if unasked:
            print(f"{name} ended by itself ({code}): {self._last_lines(name)}", flush=True)

    def _last_lines(self, name: str) -> str:
        path = self._logs / f"{name}.log"
        lines = path.read_text(errors="replace").splitlines()[-8:]
        return f"{path} ends with: " + " | ".join(lines)
