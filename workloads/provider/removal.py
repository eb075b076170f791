"""Remove a JobSet and wait, by watching, until it and its pods are gone."""

from time import monotonic

from workloads.provider import jobsets
from workloads.provider.jobsets import JobSets
from workloads.provider.watch import (
    Changed,
    Follower,
    Gone,
    Inbox,
    Interrupted,
    Listed,
    Lost,
    Notice,
)


class Removal:
    """The removal of one JobSet, by uid; a new object of the same name does not count."""

    def __init__(self, sets: JobSets, name: str, uid: str, inbox: Inbox) -> None:
        """Prepare the removal; `inbox` may receive Interrupted from elsewhere."""
        self._sets = sets
        self._name = name
        self._uid = uid
        self._inbox = inbox
        self._present: dict[str, set[str]] = {"jobset": set(), "pod": set()}
        self._listed: set[str] = set()

    def run(self, limit_seconds: float, *, delete: bool) -> bool:
        """Remove (if `delete`) and wait; tell whether all is gone within the limit.

        Raises ClusterError when the deletion is refused.
        """
        if delete:
            self._sets.delete(self._name, self._uid)
        connection, deliver = self._sets.connection, self._inbox.put
        by_name = {"fieldSelector": f"metadata.name={self._name}"}
        by_uid = {"labelSelector": f"{jobsets.UID_LABEL}={self._uid}"}
        followers = [
            Follower(connection, "jobset", self._sets.path, by_name, deliver).start(),
            Follower(connection, "pod", self._sets.pods_path, by_uid, deliver).start(),
        ]
        deadline = monotonic() + limit_seconds
        try:
            while not self._gone():
                notice = self._inbox.next(deadline - monotonic())
                if isinstance(notice, Interrupted | Lost) or monotonic() > deadline:
                    return False
                self._take(notice)
            return True
        finally:
            for follower in followers:
                follower.stop()

    def _gone(self) -> bool:
        return len(self._listed) == 2 and not any(self._present.values())

    def _take(self, notice: Notice | None) -> None:
        match notice:
            case Changed(kind=kind, item=item):
                uid = item["metadata"]["uid"]
                if kind == "pod" or uid == self._uid:
                    self._present[kind].add(uid)
            case Gone(kind=kind, uid=uid):
                self._present[kind].discard(uid)
            case Listed(kind=kind):
                self._listed.add(kind)
            case _:
                pass
