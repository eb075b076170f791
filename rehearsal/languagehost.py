"""A language host for Python programs, for an engine that was built without its own.

An installed Pulumi brings a host; one that is built from Go modules does not. The SDK already has
all of it for inline programs (`pulumi.automation`): this only runs a file instead of a function.
"""

import os
import runpy
import select
import signal
import sys
import threading
import traceback
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pulumi
from google.protobuf import empty_pb2
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

# The engine's own limit for one message (`rpcutil.MaxRPCMessageSize`).
MAX_MESSAGE_BYTES = 400 * 1024 * 1024


class PythonHost(LanguageServer):
    """Runs the project's entry point in this process for each `Run` of the engine."""

    def __init__(self, engine: str) -> None:
        super().__init__(lambda: None)
        self._engine = engine

    def Handshake(  # noqa: N802  the name of the call in language.proto
        self, request: Any, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        """Accept the engine; nothing depends on where it is."""
        return language_pb2.LanguageHandshakeResponse()

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> empty_pb2.Empty:  # noqa: N802
        """Accept the wish to stop: the engine closes the monitor, which ends the program."""
        return empty_pb2.Empty()

    def Run(self, request: Any, context: grpc.ServicerContext) -> language_pb2.RunResponse:  # noqa: N802
        """Run the program with the request's stack, config, secrets and parallelism."""
        folder = Path(request.info.program_directory or request.pwd)
        os.chdir(folder)
        entry = folder / (request.info.entry_point or ".")
        self.program = lambda: _run_program(entry)
        # The SDK's server looks here for the engine, to which the program's log goes.
        request.args[:] = [self._engine]
        response: language_pb2.RunResponse = super().Run(request, context)  # type: ignore[no-untyped-call]
        # An error has been logged by now; returned as well, the engine would show it twice.
        return language_pb2.RunResponse(bail=True) if response.error else response


def _run_program(entry: Path) -> None:
    """Run a file or a folder's `__main__.py` as Python would from the command line."""
    program = entry / "__main__.py" if entry.is_dir() else entry
    sys.path.insert(0, str(program.parent))
    try:
        runpy.run_path(str(program), run_name="__main__")
    except pulumi.RunError:
        raise
    except Exception as error:
        # The frames of this host and of `runpy` are no news to the program's author.
        raise pulumi.RunError(readable_traceback(error, program.parent)) from None


def readable_traceback(error: BaseException, program: Path) -> str:
    """Return the traceback from the program's own first frame on."""
    frames = traceback.extract_tb(error.__traceback__)
    own = next((i for i, frame in enumerate(frames) if frame.filename.startswith(f"{program}")), 0)
    return (
        "Program failed with an unhandled exception:\n"
        "Traceback (most recent call last):\n"
        + "".join(traceback.format_list(frames[own:]))
        + "".join(traceback.format_exception_only(error))
    ).rstrip()


def _end_with(parent: int) -> None:
    """End this process when `parent` does: an engine that is killed leaves its plugins behind."""
    select.select([os.pidfd_open(parent)], [], [])
    os._exit(1)


def main() -> None:
    """Serve one engine on a free loopback port, which is printed for it."""
    # The engine gives its address last, behind options that a program never needs.
    engine = next((word for word in reversed(sys.argv[1:]) if not word.startswith("-")), "")
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    server = grpc.server(
        futures.ThreadPoolExecutor(4),
        options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)],
    )
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(PythonHost(engine), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
