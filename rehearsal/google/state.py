"""What exists in the stand-in's Google projects: one readable file per object.

`<home>/google/<project>/<type>/<id>.json` holds {"type", "id", "created", "properties"}; slashes
of an id are written as `~`. To stage drift, a deletion by hand or somebody else's object, edit,
remove or write such a file.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rehearsal.values import Values

_LONGEST_NAME: Final = 200  # file systems stop at 255 bytes; IAM members with a pool come close


@dataclass(frozen=True)
class Entry:
    """One object of a project."""

    id: str
    properties: Values


class State:
    """The objects of every project of one home; safe to use from several processes at once."""

    def __init__(self, home: Path) -> None:
        self._root = home / "google"

    def path(self, project: str, kind: str, object_id: str) -> Path:
        """The file of one object; `kind` is a type token."""
        name = object_id.removeprefix(f"projects/{project}/").replace("/", "~")
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME]}~{hashlib.sha256(name.encode()).hexdigest()[:12]}"
        return self._root / project / folder(kind) / f"{name}.json"

    def read(self, project: str, kind: str, object_id: str) -> Values | None:
        """The properties of an object, or None when there is none."""
        document = read_json(self.path(project, kind, object_id), None)
        return None if document is None else document["properties"]

    def entries(self, project: str, kind: str) -> list[Entry]:
        """Every object of a type, by id."""
        files = sorted((self._root / project / folder(kind)).glob("*.json"))
        documents = [read_json(file, None) for file in files]
        return [Entry(d["id"], d["properties"]) for d in documents if d is not None]

    def write(self, project: str, kind: str, object_id: str, properties: Values) -> None:
        """Create or overwrite an object."""
        path = self.path(project, kind, object_id)
        earlier = read_json(path, {})
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        document = {
            "type": kind,
            "id": object_id,
            "created": earlier.get("created", now),
            "properties": properties,
        }
        write_json(path, document)

    def delete(self, project: str, kind: str, object_id: str) -> None:
        """Remove an object; nothing happens when there is none."""
        self.path(project, kind, object_id).unlink(missing_ok=True)

    def document(self, *parts: str, default: Any) -> Any:
        """Another file below the folder, such as a project's reservations.json."""
        return read_json(self._root.joinpath(*parts), default)

    def write_document(self, *parts: str, document: Any) -> None:
        """Write another file below the folder."""
        write_json(self._root.joinpath(*parts), document)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold while deciding on what exists and recording it, not while it takes effect."""
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def folder(kind: str) -> str:
    """`gcp:storage/bucket:Bucket` -> `storage.Bucket`."""
    _, module, name = kind.split(":")
    return f"{module.split('/')[0]}.{name}"


def read_json(path: Path, default: Any) -> Any:
    """The content of a file, or the default when there is none."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return default


def write_json(path: Path, document: Any) -> None:
    """Write a file so that a reader sees the old or the new content, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(descriptor, "w") as file:
        json.dump(document, file, indent=2, sort_keys=True)
        file.write("\n")
    Path(temporary).replace(path)
