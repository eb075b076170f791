"""The life of a resource of the stand-in: checked, compared, recorded, and made to have effect."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rehearsal.difference import Difference, compare
from rehearsal.google import inputs as program
from rehearsal.google import schema
from rehearsal.google.faults import Faults
from rehearsal.google.immutable import is_immutable
from rehearsal.google.kind import Call, Kind, merged
from rehearsal.google.projects import require_rehearsal
from rehearsal.google.registry import kind_of
from rehearsal.google.state import State
from rehearsal.google.world import World
from rehearsal.plugin import Checked, RefusedError, Resource
from rehearsal.values import Secret, Values

if TYPE_CHECKING:
    from rehearsal.cloud.client import Cloud

# Inputs that the provider's own configuration fills in, and its key for each.
_FILLED: Final = {"project": "project", "region": "region"}


class GoogleProvider:
    """The stand-in's Google Cloud for one provider instance of the engine."""

    def __init__(self, home: Path, cloud: Cloud | None = None) -> None:
        self._state = State(home)
        self._world = World(self._state, lambda: cloud or _local_cloud(home))
        self._faults = Faults(self._state)
        self._config: Values = {}

    def configure(self, config: Values) -> None:
        """Take the provider's configuration; a project that is not the rehearsal's is refused."""
        if config.get("project") is not None:
            require_rehearsal(config["project"])
            self._serve_buckets(config["project"])
        self._config = config

    def _serve_buckets(self, project: str) -> None:
        """Start the local cloud where somebody may ask for buckets before anything is created.

        It ends by itself, while the service stays enabled.
        """
        if self._world.is_enabled(project, "storage.googleapis.com"):
            self._world.running()

    def diff_config(self, old: Values, new: Values) -> Difference:
        """Another project means other resources; every other setting may change."""
        return compare(old, new, lambda path: path == "project")

    def check(self, resource: Resource, old: Values, new: Values, seed: bytes) -> Checked:
        """Say what Google or the real provider would refuse, before anything exists."""
        kind = kind_of(resource.kind)
        self._project(new)
        inputs = program.named(kind, resource, old, new, seed)
        failures = schema.problems(resource.kind, inputs)
        return Checked(inputs, failures or kind.problems(inputs))

    def diff(self, resource: Resource, old: Values, new: Values) -> Difference:
        """Compare, and replace where the real provider would."""
        kind = kind_of(resource.kind)
        before, after = self._filled(kind, old), self._filled(kind, new)
        after = kind.same(before, after)
        difference = compare(
            before,
            after,
            lambda path: is_immutable(kind.token, path) or kind.replaces(before, after, path),
        )
        return Difference(difference.detailed, _same_name(kind, before, after))

    def create(
        self, resource: Resource, inputs: Values, preview: bool, timeout_seconds: float
    ) -> tuple[str, Values]:
        """Create the object, or in a preview say what it would look like."""
        kind = kind_of(resource.kind)
        project = self._project(inputs)
        properties = self._filled(kind, inputs)
        if preview:
            return "", merged(kind.computed, properties)
        self._faults.meet(resource, "create")
        call = Call(project, properties)
        object_id = self._claim(kind, call)
        try:
            outputs = merged(properties, kind.create(self._world, call))
        except BaseException:
            self._state.delete(project, kind.token, object_id)
            raise
        self._state.write(project, kind.token, object_id, outputs)
        return object_id, _with_secrets(kind, outputs)

    def read(
        self, resource: Resource, inputs: Values, outputs: Values
    ) -> tuple[Values, Values] | None:
        """Look the object up; None when it is gone."""
        kind = kind_of(resource.kind)
        project = self._project({**inputs, **outputs})
        self._faults.meet(resource, "read")
        properties = self._state.read(project, kind.token, resource.id)
        if properties is None:
            return None
        looked_up = kind.read(self._world, Call(project, properties, resource.id))
        if looked_up is None:
            return None
        current = merged(properties, looked_up)
        if inputs:
            seen = program.refreshed(kind.token, inputs, current)
        else:
            seen = program.found(kind.token, current)
        return seen, _with_secrets(kind, current)

    def update(
        self, resource: Resource, outputs: Values, old: Values, new: Values, preview: bool
    ) -> Values:
        """Change the object in place; what Google computed stays as it was."""
        kind = kind_of(resource.kind)
        project = self._project(new)
        properties = merged(self._filled(kind, new), _carried(kind.computed, outputs))
        if not preview:
            self._faults.meet(resource, "update")
            self._world.require(project, kind.token, resource.id)
            changed = kind.update(self._world, Call(project, properties, resource.id))
            properties = merged(properties, changed)
            self._state.write(project, kind.token, resource.id, properties)
        return _with_secrets(kind, properties)

    def delete(self, resource: Resource, outputs: Values, timeout_seconds: float) -> None:
        """Delete the object; one that is gone already is fine."""
        from rehearsal.cloud.model import CloudError

        kind = kind_of(resource.kind)
        project = self._project(outputs)
        self._faults.meet(resource, "delete")
        if self._state.read(project, kind.token, resource.id) is None:
            return
        call = Call(project, outputs, resource.id)
        if kind.keeps_state(call):
            return
        kind.may_delete(self._world, call)
        try:
            kind.delete(self._world, call)
        except CloudError as error:
            if error.code != "NOT_FOUND":
                raise
        self._state.delete(project, kind.token, resource.id)

    def cancel(self) -> None:
        """End injected delays at once."""
        self._faults.cancel()

    def _claim(self, kind: Kind, call: Call) -> str:
        """Record the object before it takes effect, so that nobody else can create it meanwhile."""
        if kind.service:
            self._world.require_service(call.project, kind.service)
        object_id = kind.identity(call)
        with self._state.lock():
            exists = self._state.read(call.project, kind.token, object_id) is not None
            if exists and kind.conflict:
                raise RefusedError(kind.conflict.format(object_id))
            kind.admit(self._world, call)
            claim = {**call.properties, "status": "PROVISIONING"}
            self._state.write(call.project, kind.token, object_id, claim)
        return object_id

    def _project(self, properties: Values) -> str:
        return require_rehearsal(properties.get("project") or self._config.get("project"))

    def _filled(self, kind: Kind, inputs: Values) -> Values:
        """The inputs with Google's defaults and the provider's configuration, without our marks."""
        fields = schema.kinds()[kind.token]["inputs"]
        filled = {
            name: self._config[key]
            for name, key in _FILLED.items()
            if name in fields and self._config.get(key) is not None
        }
        given = {name: value for name, value in inputs.items() if value is not None}
        return {**kind.defaults, **filled, **given}


def _same_name(kind: Kind, old: Values, new: Values) -> bool:
    """Whether a replacement must be deleted first: the program fixed a name and keeps it."""
    name = kind.autoname
    return name is not None and name not in new.get("__defaults", []) and old[name] == new[name]


def _carried(computed: Values, outputs: Values) -> Values:
    """The computed outputs, and only they, out of all outputs."""
    carried: dict[str, Any] = {}
    for key, value in computed.items():
        earlier = outputs.get(key)
        if isinstance(value, dict) and isinstance(earlier, dict):
            carried[key] = _carried(value, earlier)
        elif earlier is not None:
            carried[key] = earlier
    return carried


def _with_secrets(kind: Kind, outputs: Values) -> Values:
    marked = {name: value for name, value in outputs.items() if not name.startswith("__")}
    for path in kind.secrets:
        *blocks, name = path.split(".")
        block = functools.reduce(lambda found, key: found.get(key, {}), blocks, marked)
        if isinstance(block, dict) and name in block:
            marked = merged(marked, _nested(blocks, {name: Secret(block[name])}))
    return marked


def _nested(blocks: list[str], value: Values) -> Values:
    return functools.reduce(lambda inner, key: {key: inner}, reversed(blocks), value)


def _local_cloud(home: Path) -> Cloud:
    from rehearsal.cloud.client import Cloud

    return Cloud(home)
