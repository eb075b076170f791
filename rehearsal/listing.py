"""The objects a stage left, as `gcloud storage ls -l --readable-sizes` shows them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from google.cloud import storage

_UNITS = ("B", "kiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class StoredObject:
    """One object of a bucket: its URL, size in bytes and time of the last change."""

    url: str
    size_bytes: int
    updated: datetime


def stored_objects(url: str) -> list[StoredObject]:
    """Return the objects below `url` (`gs://bucket/prefix/`), oldest name first.

    The client follows STORAGE_EMULATOR_HOST, so the rehearsal and Google Cloud share this code.
    """
    bucket, _, prefix = url.removeprefix("gs://").partition("/")
    blobs = storage.Client(project="rehearsal").list_blobs(bucket, prefix=prefix)
    return [StoredObject(f"gs://{bucket}/{blob.name}", blob.size, blob.updated) for blob in blobs]


def readable_size(size_bytes: int) -> str:
    """Return a size as gcloud prints it: `532 B`, `4.48 MiB`."""
    value = float(size_bytes)
    for unit in _UNITS:
        if value < 1024 or unit == _UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def listing(objects: Iterable[StoredObject], most: int) -> list[str]:
    """Return the lines of a listing: at most `most` objects, then a count of the others and TOTAL.

    The newest objects are kept when some must be left out: commit markers and indexes are
    written last, and they are what tells a finished stage from a broken one.
    """
    everything = list(objects)
    newest = sorted(everything, key=lambda item: item.updated)[-most:]
    shown = [item for item in everything if item in newest]
    lines = [
        f"{readable_size(item.size_bytes):>12}  "
        f"{item.updated.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}  {item.url}"
        for item in shown
    ]
    if len(everything) > len(shown):
        lines.append(f"{'...':>12}  and {len(everything) - len(shown)} older objects")
    total_bytes = sum(item.size_bytes for item in everything)
    lines.append(
        f"TOTAL: {len(everything)} objects, {total_bytes} bytes ({readable_size(total_bytes)})"
    )
    return lines
