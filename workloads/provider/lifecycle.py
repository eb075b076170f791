"""The life of one stage resource: run it once, prove it, keep it, take its JobSet away.

Nothing here knows the engine. A stage that cannot start raises RefusedError and leaves no trace;
one that began and is not proven raises UnfinishedError with the outputs that the state keeps.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from typing import Any

from workloads.provider import artifacts, jobsets, outputs
from workloads.provider import digest as digests
from workloads.provider.admission import RefusedError
from workloads.provider.attempt import Narrator
from workloads.provider.connection import Connection
from workloads.provider.inputs import StageInputs, parse
from workloads.provider.jobsets import JobSets
from workloads.provider.objects import ObjectStore, ObjectStoreError, split_url
from workloads.provider.progress import duration
from workloads.provider.record import RECORD_NAME, RecordError, RecordFile
from workloads.provider.removal import Removal
from workloads.provider.watch import Inbox


class UnfinishedError(Exception):
    """The stage is not proven; `outputs` is what the state keeps of it."""

    def __init__(self, kept: dict[str, Any], text: str) -> None:
        super().__init__(text)
        self.outputs = kept
        self.text = text


@dataclass
class Means:
    """What a stage needs of the world; tests give their own.

    `owner` names the stack, so that two stacks cannot run one stage at a time.
    """

    owner: str
    narrator: Narrator
    open_store: Callable[[str, Event, Callable[[str], None]], ObjectStore]
    connect: Callable[[str], Connection] = Connection
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


def read(means: Means, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stage's outputs for a refresh; raise UnfinishedError for one that is not proven.

    The record decides, never the JobSet: deleted by hand or by its TTL means nothing.
    """
    stage = parse(kept)
    wanted = digests.digest(stage.document)
    bucket, prefix = split_url(stage.directory)
    store = means.open_store(bucket, Event(), means.narrator.info)
    record = RecordFile(store, prefix).read()
    if record is not None and record.proven is not None and record.proven.digest == wanted:
        if drift := artifacts.drift(store, record.proven.objects):
            means.narrator.warn(f"{stage.stage}: {drift}")
        return {**kept, **outputs.proven({}, record.proven)}
    if kept.get("state") == "proven" and kept.get("proven_digest") == wanted:
        means.narrator.warn(
            f"{stage.stage}: its record {stage.directory}{RECORD_NAME} is gone; what the state "
            "knows is kept"
        )
        return dict(kept)
    failure = kept.get("failure") or "it has not been proven"
    state = kept.get("state") if kept.get("state") in ("failed", "interrupted") else "failed"
    raise UnfinishedError({**kept, "state": state}, f"{stage.stage}: {failure}")


def delete(means: Means, kept: Mapping[str, Any], stop: Event, inbox: Inbox) -> None:
    """Remove the stage's JobSet and wait for its pods to be gone; artifacts are never touched.

    A JobSet, namespace or kind that is not there counts as deleted. Raises ClusterError when the
    cluster cannot be asked, RefusedError when the JobSet does not go.
    """
    stage = parse(kept)
    sets = JobSets(means.connect(stage.kubeconfig), stage.namespace)
    found = sets.read(stage.name)
    if found is None or jobsets.digest_of(found) is None:
        return
    limit_seconds = stage.start_timeout_minutes * 60
    removal = Removal(sets, stage.name, jobsets.uid(found), inbox)
    if not removal.run(limit_seconds, delete=True):
        if stop.is_set():
            raise RefusedError(f"interrupted; JobSet {stage.name} is being removed")
        raise RefusedError(
            f"JobSet {stage.namespace}/{stage.name} is not gone after {duration(limit_seconds)}; "
            "its pods or finalizers hold it"
        )
    if jobsets.terminal(found) is None:
        _note_stop(means, stage, jobsets.uid(found))


def _note_stop(means: Means, stage: StageInputs, uid: str) -> None:
    # Others may then use the directory at once; without the note they wait for the deadline.
    bucket, prefix = split_url(stage.directory)
    file = RecordFile(means.open_store(bucket, Event(), means.narrator.info), prefix)
    try:
        record = file.read()
        attempt = record.attempt if record else None
        ours = attempt is not None and attempt.owner == means.owner
        if record and attempt and ours and attempt.state == "started":
            file.write(record.ended("stopped", uid))
    except (ObjectStoreError, RecordError) as error:
        means.narrator.warn(f"{stage.stage}: the record was not updated: {error}")


def rfc3339(moment: datetime) -> str:
    """Return a moment as records and states write it, in UTC and whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
