"""The four calls that the plugin makes to an API server, on the standard library alone."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import quote

from rehearsal.kubernetes.kubeconfig import Access
from rehearsal.plugin import RefusedError

FIELD_MANAGER: Final = "pulumi-kubernetes"
_CALL_SECONDS: Final = 30


class UnreachableError(RefusedError):
    """No answer from the API server."""


class StatusError(RefusedError):
    """The API server refused; `code` is the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Api:
    """A cluster's API server."""

    def __init__(self, connect: Callable[[], Access]) -> None:
        self._connect = connect
        self._access: Access | None = None
        self._watching: set[socket.socket] = set()
        self._cancelled = threading.Event()

    def get(self, path: str) -> dict[str, Any] | None:
        """An object, or None when there is none."""
        try:
            return self._call("GET", path)
        except StatusError as error:
            if error.code == http.HTTPStatus.NOT_FOUND:
                return None
            raise

    def apply(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Server-side apply; unknown fields are refused by the server."""
        query = f"fieldManager={FIELD_MANAGER}&force=true&fieldValidation=Strict"
        return self._call("PATCH", f"{path}?{query}", body, "application/apply-patch+yaml")

    def delete(self, path: str, timeout_seconds: float) -> None:
        """Delete an object with its dependants and wait until it is gone.

        Raises:
            RefusedError: it is still there after the time, or the wait was cancelled.
        """
        deadline = time.monotonic() + timeout_seconds
        try:
            self._call("DELETE", path, {"propagationPolicy": "Foreground"})
        except StatusError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
        while (found := self.get(path)) is not None:
            left = deadline - time.monotonic()
            if left <= 0 or self._cancelled.is_set():
                why = "the wait was cancelled" if left > 0 else f"{timeout_seconds:.0f} s are over"
                finalizers = found.get("spec", {}).get("finalizers") or found["metadata"].get(
                    "finalizers"
                )
                raise RefusedError(f"{path} is still being deleted ({finalizers}); {why}")
            self._await_deletion(path, found, left)

    def cancel(self) -> None:
        """End every wait at once."""
        self._cancelled.set()
        for watched in tuple(self._watching):
            with contextlib.suppress(OSError):
                watched.shutdown(socket.SHUT_RDWR)

    def _await_deletion(self, path: str, found: dict[str, Any], seconds: float) -> None:
        """Watch one object until it is deleted, the server ends the watch, or time is over."""
        collection, _, name = path.rpartition("/")
        query = (
            f"watch=true&fieldSelector=metadata.name%3D{quote(name)}"
            f"&resourceVersion={found['metadata']['resourceVersion']}"
            f"&timeoutSeconds={max(1, int(seconds))}"
        )
        with (
            self._request("GET", f"{collection}?{query}", None, "", seconds + 5) as response,
            contextlib.suppress(OSError, ValueError, http.client.HTTPException),
        ):
            while not self._cancelled.is_set() and (line := response.readline()):
                if json.loads(line)["type"] in ("DELETED", "ERROR"):
                    return

    def _call(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        with self._request(method, path, body, content_type, _CALL_SECONDS) as response:
            answer: dict[str, Any] = json.loads(response.read())
        return answer

    @contextlib.contextmanager
    def _request(
        self, method: str, path: str, body: Any, content_type: str, timeout_seconds: float
    ) -> Iterator[http.client.HTTPResponse]:
        if self._access is None:
            self._access = self._connect()
        access = self._access
        headers = {"Accept": "application/json"}
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        if body is not None:
            headers["Content-Type"] = content_type
        connection = http.client.HTTPSConnection(
            access.host, access.port, timeout=timeout_seconds, context=access.tls
        )
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            with self._watched(connection.sock):
                response = connection.getresponse()
                if response.status >= http.HTTPStatus.BAD_REQUEST:
                    raise _status(response)
                yield response
        except OSError as error:
            if isinstance(error, RefusedError):
                raise
            where = f"https://{access.host}:{access.port}"
            raise UnreachableError(
                f"configured Kubernetes cluster is unreachable: {where}: {error}. If the cluster "
                f"was deleted, run the command again with the environment variable "
                f"PULUMI_K8S_DELETE_UNREACHABLE=true to drop its objects from the state"
            ) from error
        finally:
            connection.close()

    @contextlib.contextmanager
    def _watched(self, connection: socket.socket) -> Iterator[None]:
        self._watching.add(connection)
        try:
            yield
        finally:
            self._watching.discard(connection)


def _status(response: http.client.HTTPResponse) -> StatusError:
    text = response.read().decode(errors="replace")
    try:
        message = json.loads(text)["message"]
    except (ValueError, KeyError, TypeError):
        message = text.strip() or response.reason
    return StatusError(response.status, str(message))
