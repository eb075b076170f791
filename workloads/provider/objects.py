"""Read and write a bucket the way proofs and records need it: listings, ranges, preconditions.

Only object calls are made, never `buckets.get`: an identity that may list and read objects is
enough to verify a stage.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from google.cloud.storage import Client

_Result = TypeVar("_Result")

# A fresh grant of a role takes a minute or two until it works everywhere
# (https://cloud.google.com/iam/docs/access-change-propagation).
_GRANT_PATIENCE_SECONDS = 180.0
_REQUEST_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class ObjectInfo:
    """One object of a listing; `updated` is RFC 3339 in UTC and sorts as text."""

    name: str
    size: int
    generation: int
    updated: str


class ObjectStoreError(Exception):
    """The bucket could not be used; the text says who lacks what."""


class PreconditionError(Exception):
    """Somebody else wrote the object since it was read."""


class ObjectStore(Protocol):
    """What a proof and a record need of one bucket."""

    bucket: str

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Yield every object under the prefix."""

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes | None:
        """Return a range of an object, or None when there is no such object."""

    def stat(self, name: str) -> ObjectInfo | None:
        """Return an object's description, or None when there is no such object."""

    def write(self, name: str, content: bytes, if_generation: int) -> int:
        """Write an object if it still has that generation (0: does not exist); return the new one.

        Raises PreconditionError when it has another.
        """


def split_url(url: str) -> tuple[str, str]:
    """Return bucket and object prefix of a `gs://bucket/folder/` URL.

    The closing slash is required: without it a prefix also matches sibling names. Raises
    ValueError with the URL.
    """
    found = re.fullmatch(r"gs://([a-z0-9][a-z0-9._-]+)/((?:[^/]+/)*)", url)
    if found is None:
        raise ValueError(f"{url!r} is no folder of a bucket; it has the form gs://bucket/folder/")
    return found.group(1), found.group(2)


def open_client(bucket: str) -> "Client":
    """Return a client for a bucket; raise ObjectStoreError when there are no credentials."""
    # Imported late: a preview needs no storage client, and it costs 20 MB.
    import os

    from google.auth.exceptions import DefaultCredentialsError
    from google.cloud import storage

    # The library would look up the bucket for its traces, which this identity may not be
    # allowed to do and nobody asked for.
    os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
    try:
        # The library asks for a project only when it creates buckets; any text will do.
        return storage.Client(project=os.environ.get("GOOGLE_CLOUD_PROJECT", "unused"))
    except DefaultCredentialsError as error:
        raise ObjectStoreError(
            f"no Google credentials to read gs://{bucket}/: run "
            "`gcloud auth application-default login`"
        ) from error


class GoogleObjectStore:
    """One bucket of Google Cloud Storage, through application default credentials.

    The client library honours STORAGE_EMULATOR_HOST by itself.
    """

    def __init__(
        self,
        bucket: str,
        *,
        stop: Event | None = None,
        patience_seconds: float = _GRANT_PATIENCE_SECONDS,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Prepare access to `bucket`; `stop` ends waiting early and `say` is told why it waits."""
        self.bucket = bucket
        self._stop = stop or Event()
        self._patience_seconds = patience_seconds
        self._say = say
        self._client: Client | None = None

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Yield every object under the prefix, over all pages."""
        fields = "items(name,size,generation,updated),nextPageToken"
        blobs = self._patiently(
            "storage.objects.list",
            lambda: list(
                self._storage().list_blobs(
                    self.bucket, prefix=prefix, fields=fields, timeout=_REQUEST_TIMEOUT_SECONDS
                )
            ),
        )
        for blob in blobs:
            yield _info(blob)

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes | None:
        """Return a range of an object, or None when there is no such object."""
        from google.api_core.exceptions import NotFound, RequestRangeNotSatisfiable

        end = None if length is None else start + length - 1
        blob = self._storage().bucket(self.bucket).blob(name)
        try:
            content: bytes = self._patiently(
                "storage.objects.get",
                lambda: blob.download_as_bytes(
                    start=start or None,
                    end=end,
                    raw_download=True,
                    # A range has no checksum of its own to compare with.
                    checksum=None,
                    timeout=_REQUEST_TIMEOUT_SECONDS,
                ),
            )
        except NotFound:
            return None
        except RequestRangeNotSatisfiable:
            return b""
        return content

    def stat(self, name: str) -> ObjectInfo | None:
        """Return an object's description, or None when there is no such object."""
        bucket = self._storage().bucket(self.bucket)
        blob = self._patiently("storage.objects.get", lambda: bucket.get_blob(name))
        return None if blob is None else _info(blob)

    def write(self, name: str, content: bytes, if_generation: int) -> int:
        """Write an object if it still has that generation (0: does not exist); return the new one.

        A write whose answer got lost is recognised by the object's content.
        """
        from google.api_core.exceptions import PreconditionFailed

        blob = self._storage().bucket(self.bucket).blob(name)
        try:
            self._patiently(
                "storage.objects.create",
                lambda: blob.upload_from_string(
                    content,
                    content_type="application/json",
                    if_generation_match=if_generation,
                    timeout=_REQUEST_TIMEOUT_SECONDS,
                ),
            )
        except PreconditionFailed:
            found = self.stat(name)
            if found is not None and self.read(name) == content:
                return found.generation
            raise PreconditionError(name) from None
        return int(blob.generation)

    def _storage(self) -> "Client":
        if self._client is None:
            self._client = open_client(self.bucket)
        return self._client

    def _patiently(self, permission: str, call: Callable[[], _Result]) -> _Result:
        from google.api_core.exceptions import Forbidden, NotFound

        deadline = monotonic() + self._patience_seconds
        pause_seconds, said = 0.5, False
        while True:
            try:
                return call()
            except Forbidden as error:
                who = caller(str(error))
                if monotonic() + pause_seconds > deadline:
                    raise ObjectStoreError(
                        f"{who} may not use gs://{self.bucket}/: permission {permission} is "
                        f"missing (tried for {self._patience_seconds:.0f} s). Grant it "
                        "roles/storage.objectUser on the bucket."
                    ) from None
                if not said:
                    self._say(f"{who} has no {permission} on gs://{self.bucket}/ yet; trying again")
                    said = True
                if self._stop.wait(pause_seconds):
                    raise ObjectStoreError("interrupted while waiting for access") from None
                pause_seconds = min(pause_seconds * 1.7, 15)
            except NotFound as error:
                if "bucket does not exist" in str(error).lower():
                    raise ObjectStoreError(f"bucket gs://{self.bucket}/ does not exist") from None
                raise


def caller(message: str) -> str:
    """Return who was denied something, from Google's text of the denial.

    It begins with the caller: "a@b.c does not have storage.objects.list access".
    """
    found = re.search(r"([\w.+-]+@[\w.-]+|Anonymous caller) does not have", message)
    return found.group(1) if found else "this machine's Google identity"


def _info(blob: object) -> ObjectInfo:
    updated = getattr(blob, "updated", None)
    return ObjectInfo(
        name=str(getattr(blob, "name", "")),
        size=int(getattr(blob, "size", 0) or 0),
        generation=int(getattr(blob, "generation", 0) or 0),
        updated=updated.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if updated is not None else "",
    )
