"""What every resource type of the stand-in has in common, and what each says for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rehearsal.google.projects import NUMBERS
from rehearsal.google.world import World
from rehearsal.values import UNKNOWN, Values


@dataclass(frozen=True)
class Call:
    """One operation on one object, with what the provider's configuration fills in."""

    project: str
    properties: Values
    id: str = ""

    @property
    def number(self) -> str:
        """The project's number."""
        return NUMBERS[self.project]

    def __getitem__(self, name: str) -> Any:
        return self.properties[name]

    def get(self, name: str, default: Any = None) -> Any:
        """A property that may be missing."""
        value = self.properties.get(name)
        return default if value is None else value


class Kind:
    """A resource type; the methods that a type does not override do nothing."""

    token: ClassVar[str]
    service: ClassVar[str | None] = None
    """The API that must be enabled in the project before objects of this type can be made."""
    autoname: ClassVar[str | None] = "name"
    """The property that gets the resource's name and seven random characters when missing."""
    conflict: ClassVar[str | None] = "googleapi: Error 409: Already exists: {}., alreadyExists"
    """What Google says when the id is taken; None where creating again is no conflict."""
    defaults: ClassVar[Values] = {}
    """Inputs that Google sets when they are missing, so that both forms count as equal."""
    computed: ClassVar[Values] = {}
    """Outputs that exist only afterwards, UNKNOWN in a preview."""
    secrets: ClassVar[tuple[str, ...]] = ()
    """Outputs, as dotted paths, that the real provider marks as secret."""

    def problems(self, inputs: Values) -> list[tuple[str, str]]:
        """What is wrong beyond the schema, as (property, sentence)."""
        return []

    def identity(self, call: Call) -> str:
        """The id of the object, as the real provider forms it."""
        raise NotImplementedError(self.token)

    def same(self, old: Values, new: Values) -> Values:
        """The new inputs, with what only differs in spelling written as before."""
        return new

    def replaces(self, old: Values, new: Values, path: str) -> bool:
        """Whether this change, allowed by the table of immutable fields, still replaces."""
        return False

    def admit(self, world: World, call: Call) -> None:
        """Refuse a creation, with Google's words, when what it needs or conflicts with says so."""

    def create(self, world: World, call: Call) -> Values:
        """Bring the object about and return its computed outputs."""
        return {}

    def update(self, world: World, call: Call) -> Values:
        """Change the object to these properties and return changed outputs."""
        return {}

    def read(self, world: World, call: Call) -> Values | None:
        """Outputs that are looked up anew, or None when the object is gone."""
        return {}

    def may_delete(self, world: World, call: Call) -> None:
        """Refuse a deletion, with Google's words."""

    def delete(self, world: World, call: Call) -> None:
        """Take the object away."""

    def keeps_state(self, call: Call) -> bool:
        """Whether the object outlives its deletion from the stack."""
        return False


def merged(first: Values, second: Values) -> Values:
    """Both, block by block; the second wins."""
    result = dict(first)
    for key, value in second.items():
        earlier = result.get(key)
        both = isinstance(earlier, dict) and isinstance(value, dict)
        result[key] = merged(earlier, value) if both else value  # type: ignore[arg-type]
    return result


def leaf(reference: Any) -> Any:
    """The last part of an id, self link or plain name."""
    return reference.rsplit("/", 1)[-1] if isinstance(reference, str) else UNKNOWN
