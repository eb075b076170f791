"""Watch one JobSet until it ends, in whatever way, and tell how it ended and how far it came.

Only the conditions Completed and Failed with status True end a JobSet; restarts, suspension and
the fate of single pods do not. The two deadlines hold here and, for the time when nobody
watches, in the manifest itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Protocol

from workloads.provider import jobsets
from workloads.provider.inputs import StageInputs
from workloads.provider.jobsets import JobSets
from workloads.provider.logs import LogFollower
from workloads.provider.pods import PodFacts, describe, facts, first_failed
from workloads.provider.progress import Progress, Throttle, cost, duration
from workloads.provider.watch import (
    Changed,
    Follower,
    Gone,
    Inbox,
    Interrupted,
    Listed,
    LogEnded,
    LogLine,
    Lost,
    Notice,
    Outage,
)

# How long to wait, after the condition, for what the other streams still have to deliver.
_AFTERMATH_SECONDS = 0.5
_TAIL_LINES = 15


class Narrator(Protocol):
    """Where a stage tells the user what it does."""

    live_interval_seconds: float

    def live(self, text: str) -> None:
        """Show the text in the resource's own line, until the next one."""

    def info(self, text: str) -> None:
        """Leave a lasting message."""

    def warn(self, text: str) -> None:
        """Leave a lasting warning."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How the watch of a JobSet ended.

    `kind` is completed, failed, deleted, start-timeout, timeout, lost or interrupted; `text` says
    more; `pod` is the one that failed first by itself.
    """

    kind: str
    text: str = ""
    pod: PodFacts | None = None
    started: str = ""
    ended: str = ""
    restarts: int = 0
    running_seconds: float = 0.0
    situation: str = ""


@dataclass
class AttemptWatch:
    """Everything known about one running JobSet, and the loop that keeps it up to date.

    `fresh` tells that it was submitted just now, so that its age does not depend on two clocks.
    """

    stage: StageInputs
    sets: JobSets
    jobset: Mapping[str, Any]
    inbox: Inbox
    narrator: Narrator
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    fresh: bool = False
    progress: Progress = field(default_factory=Progress)
    pods: dict[str, PodFacts] = field(default_factory=dict)
    tail: list[str] = field(default_factory=list)
    _log: LogFollower | None = None
    _log_open: bool = False
    _all_ran_at: float | None = None
    _ending: Ending | None = None
    _seen: bool = False

    def __post_init__(self) -> None:
        """Set the limits from the stage's inputs; the JobSet may have been running for a while."""
        self.progress.total_steps = self.stage.steps
        self._expected = jobsets.pod_count(self.stage.manifest)
        self._throttle = Throttle(self.narrator.live_interval_seconds)
        created = _time(self.jobset["metadata"].get("creationTimestamp", "")) or self.now()
        age = 0.0 if self.fresh else (self.now() - created).total_seconds()
        self._age_at_start = max(0.0, age)
        self._began = monotonic()

    def run(self) -> Ending:
        """Follow the JobSet to its end. The JobSet itself is left as it is."""
        uid = jobsets.uid(self.jobset)
        followers = [
            Follower(
                self.sets.connection,
                "jobset",
                self.sets.path,
                {"fieldSelector": f"metadata.name={self.stage.name}"},
                self.inbox.put,
            ).start(),
            Follower(
                self.sets.connection,
                "pod",
                self.sets.pods_path,
                {"labelSelector": f"{jobsets.UID_LABEL}={uid}"},
                self.inbox.put,
            ).start(),
        ]
        try:
            while self._ending is None:
                notice = self.inbox.next(self._wait_seconds())
                if notice is not None:
                    self._take(notice)
                if self._ending is None:
                    self._check_deadlines()
                    self._tell()
            self._aftermath()
            return self._finished(self._ending)
        finally:
            for follower in followers:
                follower.stop()
            if self._log is not None:
                self._log.stop()

    @property
    def age_seconds(self) -> float:
        """Seconds since the JobSet was created."""
        return self._age_at_start + monotonic() - self._began

    def line(self) -> str:
        """Return the live line: step or phase, pods, and what it has cost so far.

        What matters most at the time comes first: behind the engine's own columns a terminal has
        room for half a line, and cuts off the rest.
        """
        attempt = int(self.jobset.get("status", {}).get("restarts") or 0)
        trains = self.progress.step is not None
        parts = [
            "" if trains else self.situation(),
            self.progress.line(),
            f"restart {attempt}" if attempt else "",
            duration(self.age_seconds),
            cost(self.stage.usd_per_hour, self.age_seconds),
            self.situation() if trains else "",
        ]
        return " · ".join(part for part in parts if part)

    def situation(self) -> str:
        """Return where the pods are, or that the JobSet is suspended."""
        if jobsets.suspended(self.jobset):
            return "suspended: waiting for its queue to admit it"
        return describe(self.pods.values(), self._expected)

    def _wait_seconds(self) -> float:
        limit, _ = self._deadline()
        return min(limit - self.age_seconds, max(self._throttle.interval_seconds, 1.0))

    def _deadline(self) -> tuple[float, str]:
        if self._all_ran_at is None:
            return self.stage.start_timeout_minutes * 60, "start-timeout"
        return self._all_ran_at + self.stage.timeout_minutes * 60, "timeout"

    def _check_deadlines(self) -> None:
        limit, kind = self._deadline()
        if self.age_seconds < limit:
            return
        setting = "start_timeout_minutes" if kind == "start-timeout" else "timeout_minutes"
        minutes = getattr(self.stage, setting)
        what = "did not start" if kind == "start-timeout" else "did not end"
        self._ending = Ending(kind=kind, text=f"{what} within {setting} ({minutes:g} min)")

    def _take(self, notice: Notice) -> None:
        match notice:
            case Changed(kind="jobset", item=item):
                self._take_jobset(item)
            case Changed(kind="pod", item=item):
                self._take_pod(facts(item))
            case Gone(kind="jobset", uid=uid) if uid == jobsets.uid(self.jobset):
                self._ending = self._ending or Ending(
                    kind="deleted", text="was deleted by somebody"
                )
            case Listed(kind="jobset") if not self._seen:
                self._ending = Ending(kind="deleted", text="was deleted by somebody")
            case LogLine(pod=pod, text=text) if self._log and pod == self._log.pod:
                self._take_line(text)
            case LogEnded(pod=pod) if self._log and pod == self._log.pod:
                self._log_open = False
            case Outage(text=text, over=over):
                (self.narrator.info if over else self.narrator.warn)(text)
            case Lost(text=text):
                self._ending = Ending(kind="lost", text=text)
            case Interrupted():
                self._ending = Ending(kind="interrupted")

    def _take_jobset(self, item: Mapping[str, Any]) -> None:
        # Bound to the uid: another object of the same name is not ours to judge.
        if jobsets.uid(item) != jobsets.uid(self.jobset):
            return
        self._seen, self.jobset = True, item
        condition = jobsets.terminal(item)
        if condition is not None:
            kind = "completed" if condition["type"] == "Completed" else "failed"
            text = f"{condition.get('reason', '')}: {condition.get('message', '')}".strip(": ")
            ended = condition.get("lastTransitionTime", "")
            self._ending = Ending(kind=kind, text=text, ended=ended)

    def _take_pod(self, pod: PodFacts) -> None:
        before = self.pods.get(pod.uid)
        # A pod killed with its Job may be reported once more without how it ended.
        if before is not None and before.failed and not pod.failed:
            return
        self.pods[pod.uid] = pod
        if self._all_ran_at is None and self._running() >= self._expected:
            self._all_ran_at = self.age_seconds
        if pod.speaks:
            self._listen(pod)

    def _running(self) -> int:
        newest = max(pod.attempt for pod in self.pods.values())
        return sum(
            pod.ready or pod.phase in ("Succeeded", "Failed")
            for pod in self.pods.values()
            if pod.attempt == newest
        )

    def _listen(self, pod: PodFacts) -> None:
        has_run = pod.ready or pod.phase in ("Succeeded", "Failed")
        if has_run and (self._log is None or self._log.pod != pod.name):
            if self._log is not None:
                self._log.stop()
            self._log = LogFollower(
                self.sets.connection, self.stage.namespace, pod.name, pod.container, self.inbox.put
            ).start()
            self._log_open = True
        if self._log is not None and self._log.pod == pod.name and not pod.ready:
            self._log.finish()

    def _take_line(self, text: str) -> None:
        self.tail = [*self.tail[-_TAIL_LINES + 1 :], text]
        self.progress.read(text)

    def _tell(self) -> None:
        # Single pods coming up are no news of weight: 256 of them would be 256 lines.
        everyone_runs = self._all_ran_at is not None
        kind = f"{everyone_runs}|{self.progress.phase}|{self.progress.step is None}"
        if self._throttle.due(kind, monotonic()):
            self.narrator.live(self.line())

    def _aftermath(self) -> None:
        assert self._ending is not None
        if self._ending.kind == "interrupted":
            return
        until = monotonic() + _AFTERMATH_SECONDS
        while monotonic() < until and self._incomplete(self._ending.kind):
            notice = self.inbox.next(until - monotonic())
            if isinstance(notice, Interrupted):
                return
            if isinstance(notice, Changed | LogLine | LogEnded):
                self._take(notice)

    def _incomplete(self, kind: str) -> bool:
        if kind == "failed":
            return not any(pod.failed for pod in self.pods.values())
        return kind == "completed" and self._log_open

    def _finished(self, ending: Ending) -> Ending:
        status = self.jobset.get("status", {})
        return Ending(
            kind=ending.kind,
            text=ending.text,
            pod=self._first_failed() if ending.kind in ("failed", "deleted", "timeout") else None,
            started=self.jobset["metadata"].get("creationTimestamp", ""),
            ended=ending.ended,
            restarts=int(status.get("restarts") or 0),
            running_seconds=self._took(ending),
            situation=self.situation(),
        )

    def _took(self, ending: Ending) -> float:
        # The cluster's own times, so that an attached run tells the same as a watched one.
        started = _time(self.jobset["metadata"].get("creationTimestamp", ""))
        ended = _time(ending.ended)
        if started is None or ended is None:
            return self.age_seconds
        return (ended - started).total_seconds()

    def _first_failed(self) -> PodFacts | None:
        pod = first_failed(self.pods.values())
        if pod is not None and not pod.last_lines and self._log and pod.name == self._log.pod:
            return PodFacts(**{**pod.__dict__, "last_lines": "\n".join(self.tail)})
        return pod


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
