"""The hosts of one slice: they meet at the coordinator and walk in step over loopback.

Host 0 listens, the others connect. A lost connection is a lost host: the survivors abort, as JAX
does after its heartbeat timeout (100 s there, at once here).
"""

import socket
import time

from . import log
from .program import TrainerExit
from .settings import Settings

_CONNECT_EVERY_SECONDS = 0.05


class Hosts:
    """The barrier of one process; with a single host it does nothing."""

    def __init__(self, told: Settings, timeout_seconds: float) -> None:
        self._told = told
        self._peers: list[socket.socket] = []
        if told.hosts == 1:
            return
        log.info(
            "distributed.py:172",
            f"Connecting to JAX distributed service on {':'.join(map(str, told.coordinator))}",
        )
        if told.host == 0:
            self._listen(timeout_seconds)
        else:
            self._connect(timeout_seconds)
        log.info("max_utils.py:314", "Jax distributed system initialized on TPUs!")

    def barrier(self) -> None:
        """Return when every host is here; raise TrainerExit when one is lost."""
        try:
            if self._told.host == 0:
                for peer in self._peers:
                    self._receive(peer)
            for peer in self._peers:
                peer.sendall(b"+")
            if self._told.host != 0:
                for peer in self._peers:
                    self._receive(peer)
        except OSError as error:
            raise self._peer_lost() from error

    def _listen(self, timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        server = socket.create_server(self._told.coordinator, backlog=self._told.hosts)
        while len(self._peers) < self._told.hosts - 1:
            server.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                peer, _ = server.accept()
            except TimeoutError:
                raise self._not_registered() from None
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._peers.append(peer)
        server.close()

    def _connect(self, timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        while time.monotonic() < deadline:
            try:
                peer = socket.create_connection(self._told.coordinator, timeout=timeout_seconds)
            except ConnectionRefusedError:
                # Nothing tells when another process starts to listen.
                time.sleep(_CONNECT_EVERY_SECONDS)
                continue
            peer.settimeout(None)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._peers.append(peer)
            return
        raise self._not_registered()

    def _receive(self, peer: socket.socket) -> None:
        if not peer.recv(1):
            raise ConnectionResetError("a peer closed its connection")

    def _not_registered(self) -> TrainerExit:
        return TrainerExit(
            1,
            "jax.errors.JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: "
            f"Wait_for_all_tasks_to_register; # of tasks that reached the barrier: "
            f"{len(self._peers) + 1}/{self._told.hosts}. RPC: /tensorflow.CoordinationService/"
            "RegisterTask",
        )

    def _peer_lost(self) -> TrainerExit:
        return TrainerExit(
            self._told.survivors_exit_code,
            "Terminating process because the JAX distributed service detected fatal errors. This "
            "most likely indicates that another task died; see the other task logs for more "
            "details. UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats)",
        )
