"""The gRPC side that both provider doubles share, so that each is only its own rules.

The engine starts a plugin with its own address as argument, reads the port from the first line of
standard output and then calls `ResourceProvider` (pulumi/pulumi, proto/pulumi/provider.proto).
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, Protocol

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import (
    plugin_pb2,
    provider_pb2,
    provider_pb2_grpc,
    status_pb2,
)
from typing_extensions import override

from rehearsal.difference import Difference
from rehearsal.values import Values, to_python, to_struct

_PARALLEL_CALLS: Final = 64  # the engine has no limit of its own; a stack here has ~30 resources
_MESSAGE_BYTES: Final = 64 * 1024 * 1024


class RefusedError(Exception):
    """The operation cannot be done; the text tells the person why."""


class PartialError(Exception):
    """The object exists but is not as wanted: the engine keeps it, with the reasons."""

    def __init__(self, resource_id: str, outputs: Values, inputs: Values, reason: str) -> None:
        super().__init__(reason)
        self.resource_id, self.outputs, self.inputs = resource_id, outputs, inputs


@dataclass(frozen=True)
class Resource:
    """Which resource a call is about."""

    urn: str
    id: str = ""

    @property
    def kind(self) -> str:
        """The type token, such as `gcp:storage/bucket:Bucket`."""
        return self.urn.split("::")[2].rsplit("$", 1)[-1]

    @property
    def name(self) -> str:
        """The resource's name in the program."""
        return self.urn.split("::", 3)[3]


@dataclass(frozen=True)
class Checked:
    """The inputs as the provider understands them, and (property, reason) of what is wrong."""

    inputs: Values
    failures: list[tuple[str, str]] = field(default_factory=list)


class Provider(Protocol):
    """What a double has to know; every method may raise `RefusedError`."""

    def configure(self, config: Values) -> None:
        """Take the provider's configuration."""

    def diff_config(self, old: Values, new: Values) -> Difference:
        """Compare two configurations; a replaced key replaces every resource of the provider."""

    def check(self, resource: Resource, old: Values, new: Values, seed: bytes) -> Checked:
        """Judge inputs and complete them; also in previews."""

    def diff(self, resource: Resource, old: Values, new: Values) -> Difference:
        """Compare checked inputs, old and new."""

    def create(
        self, resource: Resource, inputs: Values, preview: bool, timeout_seconds: float
    ) -> tuple[str, Values]:
        """Return id and outputs of the created object; in a preview no id and no effect."""

    def read(
        self, resource: Resource, inputs: Values, outputs: Values
    ) -> tuple[Values, Values] | None:
        """Return the object's inputs and outputs now, or None when it is gone."""

    def update(
        self, resource: Resource, outputs: Values, old: Values, new: Values, preview: bool
    ) -> Values:
        """Return the outputs after the change in place; in a preview without effect."""

    def delete(self, resource: Resource, outputs: Values, timeout_seconds: float) -> None:
        """Delete the object; one that is gone is deleted."""

    def cancel(self) -> None:
        """End what waits, at once."""


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Translates the engine's calls for a `Provider`.

    Secrets arrive in plain (accept_secrets is false): the engine marks an output secret when the
    input of the same name was; what is secret by its nature is marked by the provider itself.
    """

    def __init__(self, provider: Provider, version: str) -> None:
        self._provider, self._version = provider, version

    @override
    def Handshake(self, request: Any, context: Any) -> Any:
        return provider_pb2.ProviderHandshakeResponse()

    @override
    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=self._version)

    @override
    def CheckConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    @override
    def DiffConfig(self, request: Any, context: Any) -> Any:
        old = request.old_inputs if request.HasField("old_inputs") else request.olds
        with _errors(context):
            difference = self._provider.diff_config(to_python(old), to_python(request.news))
            return _diff_response(difference)

    @override
    def Configure(self, request: Any, context: Any) -> Any:
        with _errors(context):
            self._provider.configure(to_python(request.args))
        return provider_pb2.ConfigureResponse(supportsPreview=True)

    @override
    def Check(self, request: Any, context: Any) -> Any:
        with _errors(context):
            checked = self._provider.check(
                Resource(request.urn),
                to_python(request.olds),
                to_python(request.news),
                request.randomSeed,
            )
        failures = [
            provider_pb2.CheckFailure(property=name, reason=reason)
            for name, reason in checked.failures
        ]
        return provider_pb2.CheckResponse(inputs=to_struct(checked.inputs), failures=failures)

    @override
    def Diff(self, request: Any, context: Any) -> Any:
        resource = Resource(request.urn, request.id)
        with _errors(context):
            return _diff_response(
                self._provider.diff(
                    resource, to_python(request.old_inputs), to_python(request.news)
                )
            )

    @override
    def Create(self, request: Any, context: Any) -> Any:
        with _errors(context):
            created, outputs = self._provider.create(
                Resource(request.urn), to_python(request.properties), request.preview,
                request.timeout,
            )  # fmt: skip
        return provider_pb2.CreateResponse(id=created, properties=to_struct(outputs))

    @override
    def Read(self, request: Any, context: Any) -> Any:
        resource = Resource(request.urn, request.id)
        with _errors(context):
            found = self._provider.read(
                resource, to_python(request.inputs), to_python(request.properties)
            )
        if found is None:
            return provider_pb2.ReadResponse()
        inputs, outputs = found
        return provider_pb2.ReadResponse(
            id=request.id, inputs=to_struct(inputs), properties=to_struct(outputs)
        )

    @override
    def Update(self, request: Any, context: Any) -> Any:
        with _errors(context):
            outputs = self._provider.update(
                Resource(request.urn, request.id), to_python(request.olds),
                to_python(request.old_inputs), to_python(request.news), request.preview,
            )  # fmt: skip
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    @override
    def Delete(self, request: Any, context: Any) -> Any:
        resource = Resource(request.urn, request.id)
        with _errors(context):
            self._provider.delete(resource, to_python(request.properties), request.timeout)
        return empty_pb2.Empty()

    @override
    def Cancel(self, request: Any, context: Any) -> Any:
        self._provider.cancel()
        return empty_pb2.Empty()


class _errors:  # noqa: N801 - reads as a statement
    """Turns exceptions into the status that the engine shows as text."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        match error:
            case None:
                return
            case PartialError():
                _abort_partially(self._context, error)
            case RefusedError():
                self._context.abort(grpc.StatusCode.UNKNOWN, str(error))
            case Exception():
                self._context.abort(grpc.StatusCode.UNKNOWN, f"{type(error).__name__}: {error}")


def _abort_partially(context: Any, error: PartialError) -> NoReturn:
    """Answer with ErrorResourceInitFailed, which the stock Python servicer has no call for."""
    reason = str(error)
    detail = provider_pb2.ErrorResourceInitFailed(
        id=error.resource_id,
        properties=to_struct(error.outputs),
        inputs=to_struct(error.inputs),
        reasons=[reason],
    )
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=reason)
    status.details.add().Pack(detail)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, reason)
    raise AssertionError("abort always raises")


def _diff_response(difference: Difference) -> Any:
    kinds = provider_pb2.PropertyDiff.Kind
    detailed = {
        path: provider_pb2.PropertyDiff(kind=kinds.Value(kind), inputDiff=True)
        for path, kind in difference.detailed.items()
    }
    changes = provider_pb2.DiffResponse.DiffChanges
    return provider_pb2.DiffResponse(
        changes=changes.Value("DIFF_SOME" if detailed else "DIFF_NONE"),
        diffs=difference.changed,
        replaces=difference.replaced,
        detailedDiff=detailed,
        hasDetailedDiff=True,
        deleteBeforeReplace=difference.delete_before_replace,
    )


def serve(provider: Provider, version: str) -> None:
    """Serve until the engine that started this process is gone, then end within a second."""
    server = grpc.server(
        futures.ThreadPoolExecutor(_PARALLEL_CALLS),
        options=[("grpc.max_receive_message_length", _MESSAGE_BYTES)],
    )
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(provider, version), server)
    port = server.add_insecure_port("127.0.0.1:0")
    threading.Thread(target=_end_with, args=(os.getppid(), os._exit), daemon=True).start()
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()


def _end_with(parent: int, end: Callable[[int], Any]) -> None:
    """End this process when its parent does: an engine killed with -9 leaves its plugins behind."""
    descriptor = os.pidfd_open(parent)
    select.select([descriptor], [], [])
    end(0)
