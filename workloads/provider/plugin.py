"""The engine plugin: gRPC in front of the stage's lifecycle and the preflight.

On top of `pulumi.provider.experimental` it adds what that lacks: a resource that exists but is
not done (`ErrorResourceInitFailed`) for create, update and read, old inputs in diff and delete,
and an end together with the engine.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf import empty_pb2
from pulumi.provider.experimental.provider import Provider
from pulumi.provider.experimental.server import ProviderServicer
from pulumi.runtime import proto
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2

from workloads.provider import changes, inputs, lifecycle, outputs, preflight
from workloads.provider.admission import RefusedError
from workloads.provider.connection import ClusterError
from workloads.provider.engine import EngineLog, ResourceNarrator
from workloads.provider.lifecycle import Means, UnfinishedError
from workloads.provider.lifeline import live_interval_seconds, parent_lost
from workloads.provider.objects import GoogleObjectStore, ObjectStore, ObjectStoreError
from workloads.provider.record import RecordError
from workloads.provider.stage_run import StageRun
from workloads.provider.values import plain, struct
from workloads.provider.watch import Inbox, Interrupted

VERSION = "0.1.0"
STAGE = "maxtext:index:Stage"
PREFLIGHT = "maxtext:index:Preflight"
# A run answers an interruption at once, unless a request of its own is under way just then.
_INTERRUPT_SECONDS = 1.0
_KINDS = {
    "add": proto.PropertyDiff.ADD,
    "delete": proto.PropertyDiff.DELETE,
    "update": proto.PropertyDiff.UPDATE,
}
_Result = TypeVar("_Result")


class Plugin(ProviderServicer):
    """Answers the engine for stages and preflights."""

    def __init__(self, engine_address: str, log: EngineLog, interval_seconds: float) -> None:
        """Answer the engine at this address; live lines come at most once per interval."""
        super().__init__([], VERSION, Provider(), engine_address)
        self._log = log
        self._interval_seconds = interval_seconds
        self._cancelled = asyncio.Event()
        self._interrupts: set[Callable[[], None]] = set()

    async def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Interrupt whatever is running."""
        self._cancelled.set()
        for interrupt in list(self._interrupts):
            interrupt()
        return empty_pb2.Empty()

    async def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Judge the inputs, also against those of the last attempt; contacts nothing."""
        new, _ = plain(request.news)
        old, _ = plain(request.olds)
        if _type(request.urn) == PREFLIGHT:
            failures = preflight.unknown_inputs(new)
        else:
            failures = inputs.problems(new)
            if not failures and old:
                # Without a property the engine shows the text alone, not a dump of all settings.
                failures = _refusals(lambda: changes.check_directory(old, new), "")
        return proto.CheckResponse(
            inputs=request.news,
            failures=[proto.CheckFailure(property=key, reason=text) for key, text in failures],
        )

    async def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Tell whether the resource has to run again, and which setting is the reason."""
        kept, _ = plain(request.olds)
        old, _ = plain(request.old_inputs)
        new, _ = plain(request.news)
        if _type(request.urn) == PREFLIGHT:
            keys = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
            return _diff([changes.Change(key, "update") for key in keys], runs=bool(keys))
        try:
            changes.check_lowered(kept, new)
        except RefusedError as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        verdict = changes.compare(old or kept, kept, new)
        return _diff(list(verdict.changes), runs=verdict.runs)

    async def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Run a stage, or look at the machine; a preview contacts nothing."""
        if request.preview:
            return proto.CreateResponse(id="", properties=request.properties)
        new, secrets = plain(request.properties)
        resource_id = _id(request.urn, new)
        kept = await self._perform(request.urn, resource_id, new, secrets, None, context)
        return proto.CreateResponse(id=resource_id, properties=struct(kept, secrets))

    async def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Run a stage again; a preview drops what the run will change, so dependants see it."""
        new, secrets = plain(request.news)
        old, _ = plain(request.olds)
        if _type(request.urn) == STAGE:
            warning = changes.schedule_warning(old, new)
            narrator = self._narrator(request.urn, new)
            if warning:
                await self._in_thread(lambda: narrator.warn(warning))
        if request.preview:
            return proto.UpdateResponse(properties=request.news)
        kept = await self._perform(request.urn, request.id, new, secrets, old, context)
        return proto.UpdateResponse(properties=struct(kept, secrets))

    async def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Refresh from the record; an unproven stage stays an unfinished one."""
        kept, secrets = plain(request.properties)
        if _type(request.urn) == PREFLIGHT:
            return proto.ReadResponse(
                id=request.id, properties=request.properties, inputs=request.inputs
            )
        if not kept:
            text = "a stage cannot be imported: `pulumi up` finds a proven result by its record"
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, text)
        means = self._means(request.urn, kept)
        asked, _ = plain(request.inputs)
        # The inputs are the newest; outputs keep those of the last run.
        current = {**kept, **{key: value for key, value in asked.items()}}
        try:
            with _clear_errors(self._narrator(request.urn, kept)):
                read = await self._in_thread(lambda: lifecycle.read(means, current))
        except UnfinishedError as error:
            await self._init_failed(request.id, error, secrets, request.inputs, kept, context)
        except RefusedError as error:
            await context.abort(grpc.StatusCode.UNKNOWN, str(error))
        return proto.ReadResponse(
            id=request.id, properties=struct(read, secrets), inputs=request.inputs
        )

    async def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Remove the stage's JobSet; its results stay."""
        if _type(request.urn) == PREFLIGHT:
            return empty_pb2.Empty()
        kept, _ = plain(request.properties)
        asked, _ = plain(request.old_inputs)
        # After a cluster was made anew only the inputs have its kubeconfig.
        kept = {**kept, "kubeconfig": asked.get("kubeconfig") or kept.get("kubeconfig")}
        narrator, means = self._narrator(request.urn, kept), self._means(request.urn, kept)
        stop, inbox = Event(), Inbox()

        def interrupt() -> None:
            stop.set()
            inbox.put(Interrupted())

        try:
            with self._interruptible(interrupt), _clear_errors(narrator):
                await self._in_thread(lambda: _delete(means, kept, stop, inbox))
        except RefusedError as error:
            await context.abort(grpc.StatusCode.UNKNOWN, str(error))
        return empty_pb2.Empty()

    async def _perform(
        self,
        urn: str,
        resource_id: str,
        new: dict[str, Any],
        secrets: set[str],
        old: Mapping[str, Any] | None,
        context: Any,
    ) -> dict[str, Any]:
        narrator = self._narrator(urn, new)
        try:
            with _clear_errors(narrator):
                if _type(urn) == PREFLIGHT:
                    return await self._in_thread(lambda: _preflight(new, old))
                run = StageRun(self._means(urn, new), new, old)
                with self._interruptible(run.interrupt):
                    return await self._run(run)
        except UnfinishedError as error:
            await self._init_failed(resource_id, error, secrets, struct(new, secrets), new, context)
        except RefusedError as error:
            await context.abort(grpc.StatusCode.UNKNOWN, str(error))
        raise AssertionError("unreachable: abort raises")

    async def _run(self, run: StageRun) -> dict[str, Any]:
        work = asyncio.ensure_future(self._in_thread(run.run))
        cancelled = asyncio.ensure_future(self._cancelled.wait())
        await asyncio.wait({work, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            await asyncio.wait({work}, timeout=_INTERRUPT_SECONDS)
        cancelled.cancel()
        if work.done():
            return work.result()
        # Its thread sits in a request; the process ends soon, and its writes are conditional.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise run.interrupted_outputs()

    async def _init_failed(
        self,
        resource_id: str,
        error: UnfinishedError,
        secrets: set[str],
        asked: Any,
        new: Mapping[str, Any],
        context: Any,
    ) -> None:
        text = self._narrator("", new).clean(error.text)
        kept = {**error.outputs}
        if "failure" in kept:
            kept["failure"] = self._narrator("", new).clean(str(kept["failure"]))
        detail = provider_pb2.ErrorResourceInitFailed(
            id=resource_id, properties=struct(kept, secrets), inputs=asked, reasons=[text]
        )
        # The engine reads the detail from a google.rpc.Status in this trailer.
        code = grpc.StatusCode.UNKNOWN
        status = status_pb2.Status(code=code.value[0], message=text.splitlines()[0])
        status.details.add().Pack(detail)
        trailer = (("grpc-status-details-bin", status.SerializeToString()),)
        await context.abort(code, text.splitlines()[0], trailer)

    def _means(self, urn: str, values: Mapping[str, Any]) -> Means:
        parts = urn.split("::")
        stack, project = parts[0].removeprefix("urn:pulumi:"), parts[1]
        owner = f"stack {project}/{stack}, namespace {values.get('namespace')}"
        return Means(owner=owner, narrator=self._narrator(urn, values), open_store=_google_store)

    def _narrator(self, urn: str, values: Mapping[str, Any]) -> ResourceNarrator:
        secrets = frozenset({str(values.get("kubeconfig") or "")} - {""})
        return ResourceNarrator(self._log, urn, self._interval_seconds, secrets)

    @contextmanager
    def _interruptible(self, interrupt: Callable[[], None]) -> Iterator[None]:
        self._interrupts.add(interrupt)
        if self._cancelled.is_set():
            interrupt()
        try:
            yield
        finally:
            self._interrupts.discard(interrupt)

    @staticmethod
    async def _in_thread(work: Callable[[], _Result]) -> _Result:
        """Run blocking work in a thread that does not keep the process alive."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[_Result] = loop.create_future()

        def settle(result: _Result | None, error: BaseException | None) -> None:
            if done.cancelled():
                return
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(result)  # type: ignore[arg-type]

        def body() -> None:
            try:
                result = work()
            except Exception as error:
                loop.call_soon_threadsafe(settle, None, error)
            else:
                loop.call_soon_threadsafe(settle, result, None)

        Thread(target=body, daemon=True).start()
        return await done


def _google_store(bucket: str, stop: Event, say: Callable[[str], None]) -> ObjectStore:
    return GoogleObjectStore(bucket, stop=stop, say=say)


def _delete(means: Means, kept: Mapping[str, Any], stop: Event, inbox: Inbox) -> None:
    try:
        lifecycle.delete(means, kept, stop, inbox)
    except ClusterError as error:
        # The variable is the one that users of the Kubernetes provider know for this.
        if error.status is None and os.environ.get("PULUMI_K8S_DELETE_UNREACHABLE") == "true":
            means.narrator.warn(f"{error}; counted as deleted (PULUMI_K8S_DELETE_UNREACHABLE)")
            return
        hint = (
            "; if the cluster is gone for good, set PULUMI_K8S_DELETE_UNREACHABLE=true"
            if error.status is None
            else ""
        )
        raise RefusedError(
            f"JobSet {kept['manifest']['metadata']['name']}: {error}{hint}"
        ) from error


def _preflight(new: dict[str, Any], passed: Mapping[str, Any] | None) -> dict[str, Any]:
    found = preflight.problems(new, passed)
    if found:
        raise RefusedError("before anything is created: " + "; ".join(found))
    return new


@contextmanager
def _clear_errors(narrator: ResourceNarrator) -> Iterator[None]:
    """Turn what cannot be helped into one clean line instead of a stack trace."""
    try:
        yield
    except RefusedError as error:
        raise RefusedError(narrator.clean(str(error))) from None
    except (ClusterError, ObjectStoreError, RecordError) as error:
        raise RefusedError(narrator.clean(str(error))) from None


def _refusals(judge: Callable[[], None], key: str) -> list[tuple[str, str]]:
    try:
        judge()
    except RefusedError as error:
        return [(key, str(error))]
    return []


def _diff(changed: list[changes.Change], *, runs: bool) -> Any:
    return proto.DiffResponse(
        changes=proto.DiffResponse.DIFF_SOME if runs else proto.DiffResponse.DIFF_NONE,
        diffs=sorted({change.path.split(".")[0].split("[")[0] for change in changed}),
        detailedDiff={
            change.path: proto.PropertyDiff(
                kind=_KINDS[change.kind], inputDiff=change.path not in outputs.COMPUTED
            )
            for change in changed
        },
        hasDetailedDiff=True,
    )


def _type(urn: str) -> str:
    return urn.split("::")[2].split("$")[-1]


def _id(urn: str, new: Mapping[str, Any]) -> str:
    if _type(urn) == PREFLIGHT:
        return "preflight"
    return f"{new['namespace']}/{new['manifest']['metadata']['name']}"


def _leave() -> None:
    # Threads may sit in reads; there is nothing to tidy up that the kernel does not.
    os._exit(0)


async def serve(engine_address: str) -> None:
    """Serve until the engine is gone; prints the port, as the engine expects of a plugin."""
    parent = os.getppid()
    log = EngineLog(engine_address, _leave)
    server = grpc.aio.server(options=_GRPC_CHANNEL_OPTIONS)
    plugin = Plugin(engine_address, log, live_interval_seconds(parent))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(plugin, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await parent_lost(parent)
    _leave()


def main(arguments: list[str]) -> None:
    """Start the plugin; the engine gives its address as the first argument."""
    addresses = [argument for argument in arguments if not argument.startswith("-")]
    if not addresses:
        sys.exit("this is a plugin of the Pulumi engine; it is started by `pulumi`")
    asyncio.run(serve(addresses[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
