"""One container as a local process: its log with times, its exit, its last words."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal.cloud.lifetime import kill_group, kill_marked_orphans
from rehearsal.cloud.processes import start_process

Object = dict[str, Any]
# The kubelet's limits of a termination message.
_MESSAGE_BYTES = 4096
_FALLBACK_BYTES = 2048
_FALLBACK_LINES = 80
_MARKER = "REHEARSAL_CONTAINER"


class Container:
    """A container of a pod, from its first start to its last exit."""

    def __init__(self, manifest: Object, folder: Path, uid: str, reaper: int) -> None:
        self.manifest = manifest
        self.name: str = manifest["name"]
        self.log_path = folder / f"{self.name}.log"
        self.termination_path = folder / f"{self.name}.termination"
        self.restarts = 0
        self.state: Object = {"waiting": {"reason": "ContainerCreating"}}
        self.last_state: Object = {}
        self.grown = threading.Condition()
        self._marker = f"{_MARKER}={uid}/{self.name}/{os.getpid()}"
        self._reaper = reaper
        self._process: subprocess.Popen[bytes] | None = None
        self._started = ""
        self._killed = False

    @property
    def finished(self) -> bool:
        """Tell whether the container has ended (it may be started again)."""
        return "terminated" in self.state

    @property
    def running(self) -> bool:
        """Tell whether the process runs."""
        return "running" in self.state

    @property
    def exit_code(self) -> int | None:
        """Return the code of the last exit."""
        code: int | None = self.state.get("terminated", {}).get("exitCode")
        return code

    @property
    def id(self) -> str:
        """Return the container's id in the pod's status."""
        return f"process://{self._process.pid}" if self._process else ""

    def start(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        directory: Path,
        ended: Callable[[Container], None],
    ) -> None:
        """Start the process; `ended` is called in another thread when it has exited.

        A command that cannot be started ends the container at once, as on a node.
        """
        self.termination_path.write_bytes(b"")
        self._started, self._killed = timestamp(), False
        name, _, value = self._marker.partition("=")
        try:
            self._process = start_process(
                command,
                environment={**variables, name: value},
                directory=directory,
                output=subprocess.PIPE,
            )
        except OSError as error:
            self.log_path.touch()
            self._end(128, "StartError", str(error))
            ended(self)
            return
        self.state = {"running": {"startedAt": self._started}}
        threading.Thread(target=self._follow, args=(self._process, ended), daemon=True).start()

    def stop(self, number: int) -> None:
        """Signal the whole process group."""
        if self._process and self.running:
            self._killed |= number == signal.SIGKILL
            kill_group(self._process.pid, number)

    def prepare_restart(self) -> None:
        """Keep the last exit and log as the previous ones."""
        self.last_state, self.state = self.state, {"waiting": {"reason": "CrashLoopBackOff"}}
        self.restarts += 1
        with contextlib.suppress(FileNotFoundError):
            self.log_path.rename(self.previous_log_path)

    @property
    def previous_log_path(self) -> Path:
        """Return where the log of the attempt before lies."""
        return self.log_path.with_suffix(".previous.log")

    def _follow(self, process: subprocess.Popen[bytes], ended: Callable[[Container], None]) -> None:
        pump = threading.Thread(target=self._pump, args=(process,), daemon=True)
        pump.start()
        code = process.wait()
        # A node ends everything in the container with its first process: data workers may live on
        # in its group, and what left the group has come to the reaper.
        kill_group(process.pid, signal.SIGKILL)
        kill_marked_orphans(self._reaper, self._marker)
        pump.join()
        reason = "Completed" if code == 0 else "Error"
        if code == -signal.SIGKILL and not self._killed:
            reason = "OOMKilled"  # nobody else kills a container's process
        code = 128 - code if code < 0 else code
        self._end(code, reason, self._message(code))
        ended(self)

    def _pump(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with self.log_path.open("ab", buffering=0) as log, process.stdout as lines:
            for line in lines:
                end = b"" if line.endswith(b"\n") else b"\n"
                log.write(timestamp(fraction=True).encode() + b" " + line + end)
                with self.grown:
                    self.grown.notify_all()

    def _end(self, code: int, reason: str, message: str) -> None:
        terminated = {
            "exitCode": code,
            "reason": reason,
            "startedAt": self._started,
            "finishedAt": timestamp(),
            "containerID": self.id,
        }
        if message:
            terminated["message"] = message
        with self.grown:
            self.state = {"terminated": terminated}
            self.grown.notify_all()

    def _message(self, code: int) -> str:
        written = self.termination_path.read_bytes()[:_MESSAGE_BYTES].decode(errors="replace")
        policy = self.manifest.get("terminationMessagePolicy")
        if written or code == 0 or policy != "FallbackToLogsOnError":
            return written
        lines = self.log_path.read_bytes().splitlines(keepends=True)[-_FALLBACK_LINES:]
        text = b"".join(line.partition(b" ")[2] for line in lines)
        return text[-_FALLBACK_BYTES:].decode(errors="replace")


def timestamp(*, fraction: bool = False) -> str:
    """Return the present time as Kubernetes writes it (UTC, RFC 3339)."""
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if fraction else "%Y-%m-%dT%H:%M:%SZ"
    return datetime.datetime.now(datetime.UTC).strftime(form)
