"""What a look at a stage's objects finds: evidence, and what is missing of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.provider.objects import ObjectInfo


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The result of looking at a stage's objects.

    `problems` is empty when everything is proven. `committed_step` is the newest committed one of
    a training stage. `decisive` are the objects that the proof rests on; count and size in bytes
    are of everything that belongs to the result.
    """

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    committed_step: int | None = None
    decisive: tuple[ObjectInfo, ...] = ()
    object_count: int = 0
    size_bytes: int = 0

    @property
    def complete(self) -> bool:
        """Whether the artifacts are all there."""
        return not self.problems


@dataclass
class Findings:
    """What one look collects; rules add to it and `proof` closes it."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    decisive: list[ObjectInfo] = field(default_factory=list)
    committed_step: int | None = None

    def need(self, objects: Mapping[str, ObjectInfo], name: str) -> bool:
        """Require an object that is there and not empty; tell whether it is."""
        found = objects.get(name)
        if found is None:
            self.problems.append(f"missing: {name}")
        elif found.size == 0:
            self.problems.append(f"empty: {name}")
        else:
            self.decisive.append(found)
            return True
        return False

    def proof(self, members: list[ObjectInfo]) -> Proof:
        """Return the proof, with `members` as the objects that belong to the result."""
        return Proof(
            problems=tuple(self.problems),
            warnings=tuple(self.warnings),
            committed_step=self.committed_step,
            decisive=tuple(self.decisive),
            object_count=len(members),
            size_bytes=sum(member.size for member in members),
        )


def shown(objects: Mapping[str, ObjectInfo], limit: int = 6) -> str:
    """Return a short list of what was found, for a message."""
    names = sorted(objects)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return (", ".join(names[:limit]) + more) if names else "nothing"
