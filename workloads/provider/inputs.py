"""The inputs of a stage resource, read once into a value that the rest of the provider uses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workloads.provider import digest as digests
from workloads.provider import jobsets
from workloads.provider.objects import split_url
from workloads.provider.values import Unknown, contains_unknown

_REQUIRED = (
    "stage",
    "namespace",
    "kubeconfig",
    "manifest",
    "settings",
    "directory",
    "artifacts",
    "url",
)


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A stage that is done, with what it left."""

    stage: str
    url: str


@dataclass(frozen=True, kw_only=True)
class StageInputs:
    """What the program asks for: one stage, where and how to run it, and what it has to leave.

    Every field is an input of the resource; times are in minutes, `usd_per_hour` is what bills
    while the stage runs.
    """

    stage: str
    namespace: str
    kubeconfig: str
    manifest: Mapping[str, Any]
    settings: Mapping[str, Any]
    operational: Mapping[str, Any]
    reads: tuple[Mapping[str, Any], ...]
    finished: tuple[Finished, ...]
    directory: str
    artifacts: Mapping[str, Any]
    url: str
    start_timeout_minutes: float
    timeout_minutes: float
    chips: int
    usd_per_hour: float | None
    still_billing: tuple[str, ...]

    @property
    def name(self) -> str:
        """The JobSet's name."""
        return str(self.manifest["metadata"]["name"])

    @property
    def document(self) -> dict[str, Any]:
        """The document that decides about the result."""
        return digests.document(self.stage, self.settings, self.reads)

    @property
    def image(self) -> str:
        """The image the stage runs with."""
        return str(self.operational.get("image") or jobsets.image(self.manifest))

    @property
    def steps(self) -> int | None:
        """The number of training steps, or None."""
        steps = self.settings.get("steps")
        return None if steps is None else int(steps)


def parse(inputs: Mapping[str, Any]) -> StageInputs:
    """Return the inputs as a value; they must be known and checked (`problems` is empty)."""
    return StageInputs(
        stage=inputs["stage"],
        namespace=inputs["namespace"],
        kubeconfig=inputs["kubeconfig"],
        manifest=inputs["manifest"],
        settings=inputs["settings"],
        operational=inputs.get("operational") or {},
        reads=tuple(inputs.get("reads") or ()),
        finished=tuple(
            Finished(stage=entry["stage"], url=entry["url"])
            for entry in inputs.get("finished") or ()
        ),
        directory=inputs["directory"],
        artifacts=inputs["artifacts"],
        url=inputs["url"],
        start_timeout_minutes=float(inputs.get("start_timeout_minutes") or 60),
        timeout_minutes=float(inputs.get("timeout_minutes") or 24 * 60),
        chips=int(inputs.get("chips") or 0),
        usd_per_hour=inputs.get("usd_per_hour"),
        still_billing=tuple(inputs.get("still_billing") or ()),
    )


def problems(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (property, what is wrong) for each input that cannot be used; unknown ones pass."""
    found = [(key, "is required") for key in _REQUIRED if inputs.get(key) is None]
    found += _folder(inputs, "directory", inputs.get("directory"))
    artifacts = inputs.get("artifacts")
    if isinstance(artifacts, Mapping):
        found += _folder(inputs, "artifacts.url", artifacts.get("url"))
    for key in ("start_timeout_minutes", "timeout_minutes"):
        value = inputs.get(key)
        if isinstance(value, int | float) and value <= 0:
            found.append((key, f"is {value}; it must be more than 0"))
    manifest = inputs.get("manifest")
    if isinstance(manifest, Mapping) and not contains_unknown(manifest):
        try:
            jobsets.pod_count(manifest)
            manifest["metadata"]["name"]
        except (KeyError, TypeError, ValueError) as error:
            found.append(("manifest", f"is no JobSet: {error!r}"))
    return found


def _folder(inputs: Mapping[str, Any], name: str, url: Any) -> list[tuple[str, str]]:
    if url is None or isinstance(url, Unknown):
        return []
    try:
        split_url(str(url))
    except ValueError as error:
        return [(name, str(error))]
    return []
