"""How two versions of a resource's inputs differ, property by property, as the engine shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rehearsal.values import UNKNOWN, Values


@dataclass(frozen=True)
class Difference:
    """What changed; `detailed` maps property paths to kinds of `PropertyDiff` (proto names)."""

    detailed: dict[str, str] = field(default_factory=dict)
    delete_before_replace: bool = False

    @property
    def changed(self) -> list[str]:
        """Top-level properties with a change."""
        return sorted({_top(path) for path in self.detailed})

    @property
    def replaced(self) -> list[str]:
        """Top-level properties whose change needs a new object."""
        return sorted({_top(p) for p, kind in self.detailed.items() if kind.endswith("_REPLACE")})


def _top(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def compare(old: Values, new: Values, replaces: Callable[[str], bool]) -> Difference:
    """Compare inputs; `replaces` tells for a field path, without indices, if it is immutable."""
    return Difference(
        {
            path: f"{kind}_REPLACE" if replaces(field_path) else kind
            for path, field_path, kind in _changes("", "", old, new)
        }
    )


def _changes(path: str, field_path: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield (property path, field path, kind) of each difference, as deep as the values go.

    A block that comes or goes counts as its fields, so that one immutable field among them shows.
    """
    if (isinstance(old, dict) or isinstance(new, dict)) and (_block(old) and _block(new)):
        old, new = old or {}, new or {}
        for key in sorted(old.keys() | new.keys()):
            if not key.startswith("__"):
                inner = f"{field_path}.{key}" if field_path else key
                yield from _changes(_joined(path, key), inner, old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _changes(f"{path}[{index}]", field_path, before, after)
    elif old is UNKNOWN or new is UNKNOWN or old != new:
        yield path, field_path, _kind(old, new)


def _block(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _joined(path: str, key: str) -> str:
    """A property path in the engine's syntax: keys that hold a dot stand in quotes."""
    if re.fullmatch(r"[A-Za-z_$][\w$]*", key):
        return f"{path}.{key}" if path else key
    return f'{path}["{key}"]'


def _kind(old: Any, new: Any) -> str:
    if old is None:
        return "ADD"
    return "DELETE" if new is None else "UPDATE"
