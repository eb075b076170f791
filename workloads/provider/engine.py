"""Send messages to the engine's display: live lines and lasting diagnostics, redacted."""

from collections.abc import Callable
from typing import Any

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from workloads.provider.lifeline import listens
from workloads.provider.redaction import redact

_CALL_SECONDS = 5.0
_Severity: Any = engine_pb2.LogSeverity


class EngineLog:
    """The engine's log service at one address, shared by all resources; used from any thread."""

    def __init__(self, address: str, on_lost: Callable[[], None]) -> None:
        """Connect; `on_lost` is called when the engine no longer listens."""
        self._address = address
        self._on_lost = on_lost
        self._channel = grpc.insecure_channel(address)
        self._stub = engine_pb2_grpc.EngineStub(self._channel)
        self._channel.subscribe(self._state_changed, try_to_connect=True)

    def send(self, urn: str, text: str, *, severity: Any, ephemeral: bool) -> None:
        """Show a message with the resource; one that cannot be sent is no failure."""
        request = engine_pb2.LogRequest(
            severity=severity, message=text, urn=urn, ephemeral=ephemeral
        )
        try:
            self._stub.Log(request, timeout=_CALL_SECONDS)
        except grpc.RpcError:
            if not listens(self._address):
                self._on_lost()

    def _state_changed(self, state: grpc.ChannelConnectivity) -> None:
        # IDLE also comes after long silence, so the address decides.
        quiet = (grpc.ChannelConnectivity.IDLE, grpc.ChannelConnectivity.TRANSIENT_FAILURE)
        if state in quiet and not listens(self._address):
            self._on_lost()


class ResourceNarrator:
    """Speaks for one resource; every text passes redaction, with the secrets it knows."""

    def __init__(
        self, log: EngineLog, urn: str, interval_seconds: float, secrets: frozenset[str]
    ) -> None:
        """Speak for the resource `urn`; `secrets` are texts that must never appear."""
        self._log = log
        self._urn = urn
        self._secrets = secrets
        self.live_interval_seconds = interval_seconds

    def live(self, text: str) -> None:
        """Show the text in the resource's own line, until the next one."""
        self._say(text, _Severity.INFO, ephemeral=True)

    def info(self, text: str) -> None:
        """Leave a lasting message."""
        self._say(text, _Severity.INFO, ephemeral=False)

    def warn(self, text: str) -> None:
        """Leave a lasting warning."""
        self._say(text, _Severity.WARNING, ephemeral=False)

    def clean(self, text: str) -> str:
        """Return the text as it may be shown."""
        return redact(text, self._secrets)

    def _say(self, text: str, severity: Any, *, ephemeral: bool) -> None:
        self._log.send(self._urn, self.clean(text), severity=severity, ephemeral=ephemeral)
