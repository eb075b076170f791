"""What one repository of the local Hub holds, and who may read it."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

# Every repository has exactly one revision; every name of a revision means this one.
REVISION = "0123456789abcdef0123456789abcdef01234567"
_WRITTEN = "2026-01-01T00:00:00.000Z"


class Refusal(Exception):  # noqa: N818
    """An answer that is not the file: status, the Hub's error code and what is wrong."""

    def __init__(self, status: HTTPStatus, code: str | None, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Repository:
    """A model or a data set below the Hub's folder."""

    kind: str
    name: str
    root: Path

    def info(self) -> dict[str, Any]:
        """Return the answer to `GET /api/<kind>/<name>`."""
        return {
            "_id": "1",
            "id": self.name,
            "modelId": self.name,
            "sha": REVISION,
            "private": False,
            "gated": False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "lastModified": _WRITTEN,
            "createdAt": _WRITTEN,
            "siblings": [{"rfilename": self._relative(path)} for path in self._files(self.root)],
        }

    def tree(self, folder: str, *, recursive: bool) -> list[dict[str, Any]]:
        """Return the entries below `folder`; raise Refusal (404) when there is no such folder."""
        start = self._inside(folder) if folder else self.root
        if not start.is_dir():
            raise self._no_entry(folder)
        paths = self._files(start) if recursive else sorted(start.iterdir())
        return [self._entry(path) for path in paths]

    def entries(self, paths: Iterable[str]) -> list[dict[str, Any]]:
        """Return size and kind of those of `paths` that exist."""
        found = (self._inside(path) for path in paths)
        return [self._entry(path) for path in found if path.exists()]

    def file(self, path: str) -> Path:
        """Return the file at `path`; raise Refusal (404) when it is missing."""
        found = self._inside(path)
        if not found.is_file():
            raise self._no_entry(path)
        return found

    def object_id(self, path: Path) -> str:
        """Return a name for the content, as the Hub's ETag is."""
        return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()

    def _entry(self, path: Path) -> dict[str, Any]:
        if path.is_dir():
            return {"type": "directory", "path": self._relative(path), "size": 0, "oid": REVISION}
        return {
            "type": "file",
            "path": self._relative(path),
            "size": path.stat().st_size,
            "oid": self.object_id(path),
        }

    def _inside(self, path: str) -> Path:
        found = (self.root / path).resolve()
        if not found.is_relative_to(self.root.resolve()):
            raise self._no_entry(path)
        return found

    def _relative(self, path: Path) -> str:
        return path.relative_to(
            self.root if path.is_relative_to(self.root) else self.root.resolve()
        ).as_posix()

    def _files(self, folder: Path) -> Iterator[Path]:
        return (path for path in sorted(folder.rglob("*")) if path.is_file())

    def _no_entry(self, path: str) -> Refusal:
        message = f"Entry not found: {path} in {self.name}"
        return Refusal(HTTPStatus.NOT_FOUND, "EntryNotFound", message)


def find_repository(root: Path, kind: str, name: str) -> Repository:
    """Return the repository called `name` in any case; raise Refusal (404) when there is none."""
    folder = root.resolve() / kind
    for path in sorted(folder.glob("*/*")):
        canonical = path.relative_to(folder).as_posix()
        if path.is_dir() and canonical.lower() == name.lower():
            return Repository(kind, canonical, path)
    raise Refusal(HTTPStatus.NOT_FOUND, "RepoNotFound", f"Repository not found: {kind}/{name}")


@dataclass(frozen=True)
class Gates:
    """Who may read a gated repository: `{"models/google/gemma-4-31b-it": ["token", ...]}`.

    The file is read at each request, so that a test can close a gate while a stage runs. A
    repository without an entry is open to everyone.
    """

    path: Path | None

    def check(self, repository: Repository, token: str) -> None:
        """Raise Refusal (401 without a token, 403 with one that has no access)."""
        tokens = self._tokens(f"{repository.kind}/{repository.name}")
        if tokens is None or token in tokens:
            return
        restricted = f"Access to model {repository.name} is restricted"
        if not token:
            message = f"{restricted}. You must have access to it and be authenticated to access it."
            raise Refusal(HTTPStatus.UNAUTHORIZED, "GatedRepo", message)
        message = f"{restricted} and you are not in the authorized list."
        raise Refusal(HTTPStatus.FORBIDDEN, "GatedRepo", message)

    def _tokens(self, key: str) -> list[str] | None:
        if self.path is None or not self.path.exists():
            return None
        gates: dict[str, list[str]] = json.loads(self.path.read_text())
        return next((tokens for name, tokens in gates.items() if name.lower() == key.lower()), None)
