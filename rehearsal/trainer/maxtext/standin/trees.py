"""The object trees that the real MaxText left, from a recording, written as another run's own.

A recording holds names, sizes and small metadata texts: `{folder: {file: size or text}}`. In the
texts `@ROOT@` is the folder that is written and `@INIT@` and `@COMMIT@` are times in nanoseconds.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .objects import Location, Store

MARKER = "commit_success.txt"
METADATA = "_CHECKPOINT_METADATA"
# Contents of arrays and tables are never read here; a kilobyte of each is enough.
_MOST_BYTES = 1024
_PROCESS = "process_0"

Recording = dict[str, dict[str, int | str]]


@cache
def recording(name: str) -> Recording:
    """Return one recorded tree: `base` or `checkpoint`."""
    file = Path(__file__).parent / "recording" / f"{name}.json"
    tree: Recording = json.loads(file.read_text())
    return tree


class Tree:
    """One checkpoint to be written: what the recording says, for this place and number of hosts."""

    def __init__(self, name: str, root: Location, hosts: int = 1) -> None:
        self._objects = dict(_for_hosts(_flat(recording(name)), hosts))
        self._root = root
        self._init = time.time_ns()

    def write(self, store: Store, changes: dict[str, str] | None = None) -> None:
        """Write everything but the commit markers; `changes` are texts for names of the tree."""
        unfinished = str(self._objects[METADATA]).replace("@COMMIT@", "null")
        document = json.loads(self._text(unfinished))
        document |= {"item_handlers": None, "custom_metadata": {}}
        self._put(store, METADATA, json.dumps(document))
        for name, content in self._objects.items():
            if name != METADATA and not name.endswith(MARKER):
                self._put(store, name, (changes or {}).get(name, content))

    def commit(self, store: Store, custom_metadata: dict[str, object] | None = None) -> None:
        """Finish the metadata, then mark the items, and last the step itself."""
        document = json.loads(self._text(str(self._objects[METADATA])))
        if custom_metadata is not None:
            document["custom_metadata"] = custom_metadata
        self._put(store, METADATA, json.dumps(document))
        markers = [name for name in self._objects if name.endswith(MARKER)]
        for name in sorted(markers, key=lambda name: (-name.count("/"), name)):
            self._put(store, name, self._objects[name])

    def _put(self, store: Store, name: str, content: int | str) -> None:
        if isinstance(content, int):
            data = hashlib.sha256(name.encode()).digest() * (_MOST_BYTES // 32)
            store.put(self._root, name, data[: min(content, _MOST_BYTES)])
        else:
            store.put(self._root, name, self._text(content).encode())

    def _text(self, text: str) -> str:
        text = text.replace("@ROOT@", str(self._root)).replace("@INIT@", str(self._init))
        return text.replace("@COMMIT@", str(time.time_ns()))


def _flat(tree: Recording) -> Iterator[tuple[str, int | str]]:
    for folder, files in tree.items():
        for file, content in files.items():
            yield f"{folder}/{file}" if folder else file, content


def _for_hosts(
    objects: Iterator[tuple[str, int | str]], hosts: int
) -> Iterator[tuple[str, int | str]]:
    """Repeat what the one recorded process wrote for each of `hosts`, data under own names."""
    for name, content in objects:
        if _PROCESS not in name:
            yield name, content
            continue
        for host in range(hosts):
            own = name.replace(_PROCESS, f"process_{host}")
            folder, _, _ = own.rpartition("/")
            if host and folder.endswith("/d"):
                own = f"{folder}/{hashlib.md5(own.encode(), usedforsecurity=False).hexdigest()}"
            yield own, content
