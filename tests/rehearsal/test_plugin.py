"""The wire of a double: what the engine is told, and that no plugin outlives its engine."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2

from rehearsal.difference import Difference
from rehearsal.plugin import Checked, PartialError, RefusedError, Resource, Servicer
from rehearsal.values import Secret, Values, to_python, to_struct

CHECKOUT = Path(__file__).resolve().parents[2]
URN = "urn:pulumi:s::p::parent:a:B$gcp:storage/bucket:Bucket::demo"


class Scripted:
    """A provider that answers as the test says."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.cancelled = False
        self.difference = Difference({"a.b": "UPDATE_REPLACE", "c": "ADD"}, True)

    def configure(self, config: Values) -> None:
        self.config = config

    def diff_config(self, old: Values, new: Values) -> Difference:
        return self.difference

    def check(self, resource: Resource, old: Values, new: Values, seed: bytes) -> Checked:
        return Checked(new, [("a", "is wrong")])

    def diff(self, resource: Resource, old: Values, new: Values) -> Difference:
        return self.difference

    def create(
        self, resource: Resource, inputs: Values, preview: bool, timeout_seconds: float
    ) -> tuple[str, Values]:
        if self.error:
            raise self.error
        return f"{resource.kind}/{resource.name}", {"secret": Secret("x")}

    def read(
        self, resource: Resource, inputs: Values, outputs: Values
    ) -> tuple[Values, Values] | None:
        return None

    def update(
        self, resource: Resource, outputs: Values, old: Values, new: Values, preview: bool
    ) -> Values:
        return new

    def delete(self, resource: Resource, outputs: Values, timeout_seconds: float) -> None: ...

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def scripted() -> Scripted:
    return Scripted()


@pytest.fixture
def engine(scripted: Scripted) -> Iterator[Any]:
    """A stub of the plugin, as the engine holds it."""
    server = grpc.server(futures.ThreadPoolExecutor(2))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(scripted, "1.2.3"), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield provider_pb2_grpc.ResourceProviderStub(channel)
    server.stop(None).wait()


def create(engine: Any) -> Any:
    return engine.Create(provider_pb2.CreateRequest(urn=URN, properties=to_struct({"a": 1})))


def test_a_resource_is_known_by_the_type_and_name_in_its_urn(engine: Any) -> None:
    answer = create(engine)
    assert answer.id == "gcp:storage/bucket:Bucket/demo"
    assert to_python(answer.properties) == {"secret": "x"}


def test_a_refusal_reaches_the_person_as_its_text(engine: Any, scripted: Scripted) -> None:
    scripted.error = RefusedError("no, because")
    with pytest.raises(grpc.RpcError) as raised:
        create(engine)
    assert raised.value.details() == "no, because"


def test_an_unexpected_error_names_its_type(engine: Any, scripted: Scripted) -> None:
    scripted.error = KeyError("region")
    with pytest.raises(grpc.RpcError) as raised:
        create(engine)
    assert raised.value.details() == "KeyError: 'region'"


def test_a_partial_failure_keeps_the_object_with_its_reason(
    engine: Any, scripted: Scripted
) -> None:
    scripted.error = PartialError("id-1", {"b": 2}, {"a": 1}, "half done")
    with pytest.raises(grpc.RpcError) as raised:
        create(engine)
    metadata = dict(raised.value.trailing_metadata())
    status = status_pb2.Status.FromString(metadata["grpc-status-details-bin"])
    detail = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(detail)
    assert (detail.id, list(detail.reasons)) == ("id-1", ["half done"])
    assert (to_python(detail.properties), to_python(detail.inputs)) == ({"b": 2}, {"a": 1})


def test_a_difference_names_paths_and_replaced_properties(engine: Any) -> None:
    answer = engine.Diff(provider_pb2.DiffRequest(urn=URN))
    assert (list(answer.replaces), list(answer.diffs)) == (["a"], ["a", "c"])
    assert answer.detailedDiff["a.b"].kind == provider_pb2.PropertyDiff.UPDATE_REPLACE
    assert answer.deleteBeforeReplace


def test_no_difference_is_said_outright(engine: Any, scripted: Scripted) -> None:
    scripted.difference = Difference()
    answer = engine.Diff(provider_pb2.DiffRequest(urn=URN))
    assert answer.changes == provider_pb2.DiffResponse.DIFF_NONE


def test_failed_checks_name_the_property(engine: Any) -> None:
    answer = engine.Check(provider_pb2.CheckRequest(urn=URN))
    assert [(f.property, f.reason) for f in answer.failures] == [("a", "is wrong")]


def test_an_object_that_is_gone_is_read_without_an_id(engine: Any) -> None:
    assert engine.Read(provider_pb2.ReadRequest(urn=URN, id="x")).id == ""


def test_configure_supports_previews_and_takes_secrets_in_plain(
    engine: Any, scripted: Scripted
) -> None:
    arguments = to_struct({"kubeconfig": Secret("k")})
    answer = engine.Configure(provider_pb2.ConfigureRequest(args=arguments))
    assert (answer.supportsPreview, answer.acceptSecrets) == (True, False)
    assert scripted.config == {"kubeconfig": "k"}


def test_cancel_reaches_the_provider(engine: Any, scripted: Scripted) -> None:
    from google.protobuf import empty_pb2

    engine.Cancel(empty_pb2.Empty())
    assert scripted.cancelled


@pytest.mark.parametrize("plugin", ["pulumi-resource-gcp", "pulumi-resource-kubernetes"])
def test_a_plugin_ends_within_two_seconds_of_an_engine_that_was_killed(
    plugin: str, tmp_path: Path
) -> None:
    """The engine kills its plugins when it ends; killed itself, it cannot."""
    script = f"{CHECKOUT / 'rehearsal' / 'bin' / plugin} 127.0.0.1:1 & echo $!; wait"
    environment = {
        **os.environ,
        "REHEARSAL_HOME": str(tmp_path),
        "REHEARSAL_PYTHON": sys.executable,
    }
    engine = subprocess.Popen(
        ["sh", "-c", script], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert engine.stdout is not None
    pid = int(engine.stdout.readline())
    try:
        assert int(engine.stdout.readline()) > 0, "the port is the plugin's first line"
        descriptor = os.pidfd_open(pid)
        engine.kill()
        engine.wait()
        ended, _, _ = select.select([descriptor], [], [], 2)
        os.close(descriptor)
        assert ended
    finally:
        engine.stdout.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
