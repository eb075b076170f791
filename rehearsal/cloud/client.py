"""What everything else uses of the local cloud: start it, ask it, end it."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rehearsal.cloud.model import CloudError, ClusterAccess, NodePool, plain
from rehearsal.cloud.ports import home_ports, home_token

__all__ = ["Cloud", "CloudError", "ClusterAccess", "NodePool"]

_CHECKOUT = Path(__file__).resolve().parents[2]
_STOP_SECONDS = 20.0
_ANSWER_SECONDS = 300.0  # a drained node pool may use its pods' grace
_SECRETS = ("PULUMI_", "AWS_", "GOOGLE_", "HF_")


class Cloud:
    """The local Google Cloud of one home. Every operation starts it when it is not running.

    Without a cluster it ends by itself once nobody has asked for anything for `idle_seconds`.
    """

    def __init__(self, home: Path, *, idle_seconds: float = 15.0) -> None:
        self.home = home.resolve()
        self._idle_seconds = idle_seconds

    def ensure_running(self) -> None:
        """Start the daemon, in a session of its own, and wait until it is ready.

        Raises CloudError with the daemon's reason when it cannot start.
        """
        if self._is_running():
            return
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._held("start.lock"):
            if not self._is_running():
                self._start()

    def down(self) -> None:
        """End the daemon; returns when every process of the home is gone."""
        if not self.home.exists():
            return
        with contextlib.suppress(OSError, http.client.HTTPException, CloudError):
            self._post("down", {})
        if not self._lock_is_free():
            self._terminate()
        with self._held("daemon.lock"):
            return

    def status(self) -> dict[str, Any]:
        """Say what runs: `running`, and if so `pid`, `keeper`, `processes`, `clusters`.

        Never starts the daemon.
        """
        try:
            answer: dict[str, Any] = self._post("status", {})
        except (OSError, http.client.HTTPException, CloudError):
            return {"running": False}
        return answer

    def create_bucket(self, name: str) -> None:
        """Create a bucket. Raises CloudError ALREADY_EXISTS."""
        self._call("create_bucket", name=name)

    def delete_bucket(self, name: str, *, force: bool) -> None:
        """Delete a bucket. Raises CloudError NOT_FOUND, or CONFLICT when full and not `force`."""
        self._call("delete_bucket", name=name, force=force)

    def bucket_exists(self, name: str) -> bool:
        """Tell whether a bucket exists."""
        return bool(self._call("bucket_exists", name=name))

    def create_cluster(self, project: str, location: str, name: str) -> ClusterAccess:
        """Start a cluster; returns when JobSets can be created (seconds).

        Raises CloudError ALREADY_EXISTS.
        """
        answer = self._call("create_cluster", project=project, location=location, name=name)
        return ClusterAccess(**answer)

    def read_cluster(self, project: str, location: str, name: str) -> ClusterAccess | None:
        """Return how to reach a cluster, or None when it does not exist."""
        answer = self._call("read_cluster", project=project, location=location, name=name)
        return ClusterAccess(**answer) if answer else None

    def delete_cluster(self, project: str, location: str, name: str) -> None:
        """End a cluster and all that runs on it. Raises CloudError NOT_FOUND."""
        self._call("delete_cluster", project=project, location=location, name=name)

    def set_node_pool(self, project: str, location: str, cluster: str, pool: NodePool) -> None:
        """Register a node pool or change its size; returns when every node is Ready.

        Raises CloudError NOT_FOUND when there is no such cluster.
        """
        place = {"project": project, "location": location, "cluster": cluster}
        self._call("set_node_pool", **place, pool=plain(pool))

    def delete_node_pool(self, project: str, location: str, cluster: str, name: str) -> None:
        """Drain and remove a node pool. Raises CloudError NOT_FOUND."""
        place = {"project": project, "location": location, "cluster": cluster}
        self._call("delete_node_pool", **place, name=name)

    def _call(self, operation: str, **arguments: Any) -> Any:
        for _ in range(3):
            self.ensure_running()
            try:
                return self._post(operation, arguments)
            except ConnectionError:
                continue  # it ended for idleness just now, with the request still unread
            except CloudError as error:
                if error.code != "UNAVAILABLE":
                    raise
        raise CloudError("UNAVAILABLE", f"the local cloud in {self.home} does not stay up")

    def _post(self, operation: str, arguments: dict[str, Any]) -> Any:
        connection = http.client.HTTPConnection(
            "127.0.0.1", home_ports(self.home)["cloud"], timeout=_ANSWER_SECONDS
        )
        headers = {"Authorization": f"Bearer {home_token(self.home)}"}
        try:
            connection.request("POST", f"/{operation}", json.dumps(arguments), headers)
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        if "error" in answer:
            raise CloudError(answer["error"]["code"], answer["error"]["message"])
        return answer["result"]

    def _is_running(self) -> bool:
        return self.home.exists() and bool(self.status()["running"])

    def _start(self) -> None:
        (self.home / "logs").mkdir(exist_ok=True)
        reading, writing = os.pipe()
        command = [sys.executable, "-m", "rehearsal.cloud", f"--home={self.home}"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(_SECRETS)}
        path = [str(_CHECKOUT), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        log_path = self.home / "logs" / "daemon.log"
        with log_path.open("ab") as log:
            process = subprocess.Popen(
                [*command, f"--ready-fd={writing}", f"--idle-seconds={self._idle_seconds}"],
                env=environment,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[writing],
                start_new_session=True,
            )
        os.close(writing)
        with os.fdopen(reading) as ready:
            answer = ready.readline().strip()
        if answer != "ready":
            process.wait()
            raise CloudError(
                "UNAVAILABLE", f"the local cloud did not start: {answer or 'see'} ({log_path})"
            )
        # The daemon outlives this object on purpose; Popen would warn of a running child.
        process.returncode = 0

    def _terminate(self) -> None:
        """Ask the daemon's process to end; one that does not is killed, and the keeper sweeps."""
        try:
            process = os.pidfd_open(json.loads((self.home / "daemon.json").read_text())["pid"])
        except (OSError, ValueError):
            return
        try:
            for number in (signal.SIGTERM, signal.SIGKILL):
                signal.pidfd_send_signal(process, number)
                if select.select([process], [], [], _STOP_SECONDS)[0]:
                    return
        except ProcessLookupError:
            return
        finally:
            os.close(process)

    def _lock_is_free(self) -> bool:
        with (self.home / "daemon.lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    @contextlib.contextmanager
    def _held(self, name: str) -> Iterator[None]:
        with (self.home / name).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
