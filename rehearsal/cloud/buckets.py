"""Buckets of the local object store, with the refusals of Google's that it lacks."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

from rehearsal.cloud.model import CloudError

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Buckets:
    """The buckets behind one port."""

    def __init__(self, port: int) -> None:
        self._root = f"http://127.0.0.1:{port}/storage/v1/b"

    def create(self, name: str) -> None:
        """Create a bucket. Raises CloudError ALREADY_EXISTS."""
        if self.exists(name):
            raise CloudError("ALREADY_EXISTS", f"the bucket {name} exists")
        self._call("POST", "?project=rehearsal", {"name": name})

    def exists(self, name: str) -> bool:
        """Tell whether there is a bucket of that name."""
        try:
            self._call("GET", f"/{name}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return False
            raise
        return True

    def delete(self, name: str, *, force: bool) -> None:
        """Delete a bucket, with its objects only if `force`.

        Raises CloudError NOT_FOUND, and CONFLICT when it is not empty.
        """
        if not self.exists(name):
            raise CloudError("NOT_FOUND", f"the bucket {name} does not exist")
        for item in self._objects(name):
            if not force:
                raise CloudError("CONFLICT", f"the bucket {name} you tried to delete is not empty")
            self._call("DELETE", f"/{name}/o/{urllib.parse.quote(item, safe='')}")
        self._call("DELETE", f"/{name}")

    def _objects(self, name: str) -> Iterator[str]:
        names: list[str] = []
        token = ""
        while True:
            page = self._call("GET", f"/{name}/o?pageToken={urllib.parse.quote(token)}")
            names += [item["name"] for item in page.get("items", [])]
            token = page.get("nextPageToken", "")
            if not token:
                return iter(names)

    def _call(self, method: str, path: str, body: dict[str, str] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(
            self._root + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with _OPENER.open(request, timeout=60) as response:
            content = response.read()
        answer: dict[str, Any] = json.loads(content) if content.strip() else {}
        return answer
