from typing import Any

from rehearsal.bench.events import Event, first_exit, handovers, running_pods


def jobset(at: float, uid: str, event: str = "MODIFIED", **conditions: str) -> Event:
    held = [{"type": kind, "status": status} for kind, status in conditions.items()]
    return Event(at, "jobset", event, {"metadata": {"uid": uid}, "status": {"conditions": held}})


def pod(at: float, uid: str, event: str = "MODIFIED", code: int | None = None) -> Event:
    state: dict[str, Any] = {"running": {}} if code is None else {"terminated": {"exitCode": code}}
    phase = {None: "Running", 0: "Succeeded"}.get(code, "Failed")
    status = {"phase": phase, "containerStatuses": [{"state": state}]}
    return Event(at, "pod", event, {"metadata": {"uid": uid}, "status": status})


def test_a_handover_lasts_from_completed_to_the_next_jobset() -> None:
    events = [
        jobset(0, "a", "ADDED"),
        jobset(5, "a", Completed="True"),
        jobset(5.1, "a", Completed="True"),
        jobset(5.5, "b", "ADDED"),
        jobset(7, "b", Completed="True"),
        jobset(9, "c", "ADDED"),
        jobset(10, "c", Completed="True"),
        jobset(11, "a", "DELETED", Completed="True"),
    ]
    assert handovers(events) == [0.5, 2]


def test_a_jobset_that_has_not_completed_hands_nothing_over() -> None:
    events = [
        jobset(0, "a", "ADDED"),
        jobset(5, "a", Completed="False", Failed="True"),
        jobset(6, "b", "ADDED"),
    ]
    assert handovers(events) == []


def test_a_watch_that_begins_anew_tells_no_second_handover() -> None:
    events = [
        jobset(0, "a", "ADDED"),
        jobset(5, "a", Completed="True"),
        jobset(5.5, "a", "ADDED", Completed="True"),
        jobset(6, "b", "ADDED"),
        jobset(8, "a", "ADDED", Completed="True"),
        jobset(8, "b", "ADDED"),
    ]
    assert handovers(events) == [1]


def test_the_first_exit_is_that_of_a_container_that_failed_just_now() -> None:
    events = [
        pod(1, "old", code=1),
        pod(11, "old", "DELETED", code=1),
        pod(12, "a"),
        pod(13, "a", code=0),
        pod(14, "b", code=1),
        pod(15, "c", code=134),
    ]
    assert first_exit(events, since=10) == 14
    assert first_exit(events, since=14.5) == 15
    assert first_exit(events, since=16) is None


def test_pods_that_have_ended_or_are_gone_do_not_run() -> None:
    events = [pod(1, "a"), pod(1, "b"), pod(1, "c"), pod(2, "b", code=0), pod(3, "c", "DELETED")]
    assert running_pods(events) == 1
