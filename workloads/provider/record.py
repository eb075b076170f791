"""The truth about a stage: one JSON object beside its artifacts, written only conditionally.

It has two sections. `attempt` tells who last started the stage and how that ended; `proven`
tells what was proven last. A later attempt, started or failed, never touches `proven`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from workloads.provider import digest as digests
from workloads.provider.objects import ObjectStore, PreconditionError

RECORD_NAME = "stage-record.json"
_FORMAT = 1


class RecordError(Exception):
    """The record cannot be read or was written by somebody else meanwhile."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The last try: `state` is started, failed or stopped; times are RFC 3339.

    `ends_by` is the time by which the manifest's own deadlines have ended it.
    """

    state: str
    document: Mapping[str, Any]
    owner: str
    number: int
    started: str
    ends_by: str = ""
    jobset: str = ""
    jobset_uid: str = ""
    image: str = ""
    operational: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Proven:
    """What a stage has proven: the document of its settings, the run's facts and the objects.

    `outputs` is what the resource shows; `objects` are the decisive ones, with size in bytes and
    generation, so that a later look can tell whether they are still the same.
    """

    document: Mapping[str, Any]
    outputs: Mapping[str, Any]
    objects: tuple[Mapping[str, Any], ...] = ()
    operational: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The digest of the document by today's rules, so an upgrade cannot change the answer."""
        return digests.digest(self.document)

    @property
    def identity(self) -> str:
        """The digest without `steps` by today's rules."""
        return digests.identity(self.document)


@dataclass(frozen=True, kw_only=True)
class Record:
    """Both sections; either may be missing."""

    stage: str
    attempt: Attempt | None = None
    proven: Proven | None = None

    def with_attempt(self, attempt: Attempt) -> "Record":
        """Return the record with a new last attempt; what is proven stays."""
        return replace(self, attempt=attempt)

    def ended(self, state: str, jobset_uid: str) -> "Record":
        """Return the record whose attempt has ended in this state."""
        if self.attempt is None:
            return self
        return replace(self, attempt=replace(self.attempt, state=state, jobset_uid=jobset_uid))


def encode(record: Record) -> bytes:
    """Return the record as it lies in the bucket: indented JSON, for people to read as well."""
    content = {"format": _FORMAT, **asdict(record)}
    return json.dumps(content, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"


def decode(content: bytes, url: str) -> Record:
    """Return the record of an object's content. Raises RecordError, naming `url`."""
    try:
        raw = json.loads(content)
        found_format = raw["format"]
        if found_format != _FORMAT:
            raise RecordError(
                f"{url} has format {found_format}, this version knows {_FORMAT}; use the version "
                "that wrote it"
            )
        attempt, proven = raw.get("attempt"), raw.get("proven")
        return Record(
            stage=raw["stage"],
            attempt=Attempt(**_known(Attempt, attempt)) if attempt else None,
            proven=_proven(proven) if proven else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(
            f"{url} is no stage record ({error}); look at it, and move it away if it is not yours"
        ) from error


def _proven(raw: Mapping[str, Any]) -> Proven:
    known = _known(Proven, raw)
    return Proven(**{**known, "objects": tuple(known.get("objects", ()))})


def _known(kind: type, raw: Mapping[str, Any]) -> dict[str, Any]:
    # A later release may add keys; what this one does not know it does not need.
    return {key: value for key, value in raw.items() if key in kind.__dataclass_fields__}  # type: ignore[attr-defined]


class RecordFile:
    """The record object of one directory, with the generation it was last seen at."""

    def __init__(self, store: ObjectStore, prefix: str) -> None:
        """Refer to the record under `prefix`, the object prefix of the stage's directory."""
        self._store = store
        self._name = prefix + RECORD_NAME
        self._generation = 0

    @property
    def url(self) -> str:
        """The record's own URL."""
        return f"gs://{self._store.bucket}/{self._name}"

    def read(self) -> Record | None:
        """Return the record, or None when the stage never started. Raises RecordError."""
        # Generation first: if somebody writes in between, the next write fails, as it must.
        found = self._store.stat(self._name)
        content = self._store.read(self._name) if found else None
        if found is None or content is None:
            self._generation = 0
            return None
        self._generation = found.generation
        return decode(content, self.url)

    def write(self, record: Record) -> None:
        """Write the record if nobody else did since it was read. Raises RecordError otherwise."""
        try:
            self._generation = self._store.write(self._name, encode(record), self._generation)
        except PreconditionError:
            raise RecordError(
                f"{self.url} was written by another run meanwhile; this one gives way. Let the "
                "other one finish, then run `pulumi up` again"
            ) from None
