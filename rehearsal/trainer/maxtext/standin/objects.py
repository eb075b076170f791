"""Objects of a bucket over the JSON API of Cloud Storage, with nothing but the standard library."""

import http.client
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit


class BucketError(Exception):
    """The object store refused; the text is what MaxText's own client would say."""


@dataclass(frozen=True)
class Location:
    """A `gs://` folder: bucket and prefix, the prefix empty or with a slash at its end."""

    bucket: str
    prefix: str

    @classmethod
    def parse(cls, url: str) -> "Location":
        """Return the location of a URL; raise BucketError for anything but `gs://`."""
        if not url.startswith("gs://"):
            raise BucketError(f"{url} is no gs:// path; the rehearsal keeps everything in a bucket")
        bucket, _, path = url[len("gs://") :].partition("/")
        return cls(bucket, path.strip("/") + "/" if path.strip("/") else "")

    def __truediv__(self, name: str) -> "Location":
        return Location(self.bucket, f"{self.prefix}{name.strip('/')}/")

    def __str__(self) -> str:
        return f"gs://{self.bucket}/{self.prefix}".rstrip("/")


class Store:
    """One connection to the object store, kept open over all requests of a process."""

    def __init__(self) -> None:
        address = urlsplit(os.environ["STORAGE_EMULATOR_HOST"])
        self._connection = http.client.HTTPConnection(address.netloc, timeout=60)

    def check_bucket(self, bucket: str) -> None:
        """Raise BucketError when the bucket is not there, as the write probe of MaxText does."""
        status, _ = self._request("GET", f"/storage/v1/b/{bucket}")
        if status != 200:
            raise BucketError(
                f"FileNotFoundError: GCS bucket 'gs://{bucket}' not found or accessible."
            )

    def put(self, folder: Location, name: str, data: bytes) -> None:
        """Write one object below `folder`."""
        query = urlencode({"uploadType": "media", "name": folder.prefix + name})
        status, body = self._request(
            "POST", f"/upload/storage/v1/b/{folder.bucket}/o?{query}", data
        )
        if status != 200:
            raise BucketError(f"{status} writing {folder}/{name}: {body.decode(errors='replace')}")

    def get(self, folder: Location, name: str) -> bytes | None:
        """Return one object's content, or None when it is not there."""
        path = quote(folder.prefix + name, safe="")
        status, body = self._request("GET", f"/storage/v1/b/{folder.bucket}/o/{path}?alt=media")
        if status == 404:
            return None
        if status != 200:
            raise BucketError(f"{status} reading {folder}/{name}")
        return body

    def exists(self, folder: Location, name: str) -> bool:
        """Return whether there is an object of this name below `folder`."""
        return self.get(folder, name) is not None

    def names(self, folder: Location) -> list[str]:
        """Return the names of all objects below `folder`, relative to it."""
        pages = self._pages(folder, {})
        return [item["name"][len(folder.prefix) :] for page in pages for item in page["items"]]

    def folders(self, folder: Location) -> list[str]:
        """Return the names of the folders right below `folder`."""
        pages = self._pages(folder, {"delimiter": "/"})
        return [
            prefix[len(folder.prefix) :].strip("/") for page in pages for prefix in page["prefixes"]
        ]

    def delete(self, folder: Location) -> None:
        """Delete every object below `folder`, its commit marker first."""
        names = self.names(folder)
        for name in sorted(names, key=lambda name: (name != "commit_success.txt", name)):
            path = quote(folder.prefix + name, safe="")
            self._request("DELETE", f"/storage/v1/b/{folder.bucket}/o/{path}")

    def _pages(self, folder: Location, options: dict[str, str]) -> Iterator[dict[str, list[Any]]]:
        token = ""
        while True:
            query = {"prefix": folder.prefix, **options} | ({"pageToken": token} if token else {})
            status, body = self._request(
                "GET", f"/storage/v1/b/{folder.bucket}/o?{urlencode(query)}"
            )
            if status != 200:
                raise BucketError(f"{status} listing {folder}")
            page = json.loads(body)
            yield {"items": page.get("items") or [], "prefixes": page.get("prefixes") or []}
            token = page.get("nextPageToken", "")
            if not token:
                return

    def _request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        try:
            return self._send(method, path, body)
        except (http.client.HTTPException, ConnectionError):
            # The server may close an idle connection between two saves.
            self._connection.close()
            return self._send(method, path, body)

    def _send(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/octet-stream"} if body is not None else {}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()
