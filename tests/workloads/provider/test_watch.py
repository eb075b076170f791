"""Following the API server: nothing is missed, nothing is asked twice, an outage is told once."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.workloads.provider.fake_api_server import JOBSETS, PODS, FakeApiServer, pod, wait_until
from workloads.provider import watch
from workloads.provider.connection import ClusterError, Connection
from workloads.provider.logs import LogCursor, LogFollower
from workloads.provider.watch import (
    Changed,
    Follower,
    Gone,
    Listed,
    LogEnded,
    LogLine,
    Lost,
    Notice,
    Outage,
)

JOBSET = {"metadata": {"name": "r", "uid": "u"}}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(watch, "_LONGEST_PAUSE_SECONDS", 0.05)


class Followed:
    """A follower of the pods with everything it delivered."""

    def __init__(self, api: FakeApiServer, **options: Any) -> None:
        self.notices: list[Notice] = []
        selector = {"labelSelector": "jobset.sigs.k8s.io/jobset-uid=u"}
        connection = Connection(api.kubeconfig())
        self.follower = Follower(
            connection, "pod", PODS, selector, self.notices.append, **options
        ).start()

    def of(self, kind: type) -> list[Any]:
        return [notice for notice in self.notices if isinstance(notice, kind)]

    def hosts(self) -> list[str]:
        return [notice.item["metadata"]["name"][-4:-3] for notice in self.of(Changed)]


@pytest.fixture
def followed(api: FakeApiServer) -> Iterator[Followed]:
    api.put(PODS, pod(JOBSET, 0))
    found = Followed(api)
    wait_until(lambda: api.requests[f"GET {PODS}?watch"] == 1)
    yield found
    found.follower.stop()


def test_what_was_there_and_what_comes_is_delivered_once(
    api: FakeApiServer, followed: Followed
) -> None:
    api.put(PODS, pod(JOBSET, 1))
    api.put(PODS, pod({"metadata": {"name": "x", "uid": "other"}}, 2))
    api.remove(PODS, pod(JOBSET, 1)["metadata"]["name"])
    wait_until(lambda: bool(followed.of(Gone)))
    assert followed.hosts() == ["0", "1", "1"]
    assert len(followed.of(Listed)) == 1
    assert api.requests[f"GET {PODS}"] == 1


def test_a_lost_connection_goes_on_from_the_last_version_without_a_word(
    api: FakeApiServer, followed: Followed
) -> None:
    api.drop_connections()
    api.put(PODS, pod(JOBSET, 1))
    wait_until(lambda: followed.hosts() == ["0", "1"])
    assert api.requests[f"GET {PODS}"] == 1
    assert not followed.of(Outage)


def test_a_version_that_is_gone_is_answered_with_a_new_list(
    api: FakeApiServer, followed: Followed
) -> None:
    """410; what disappeared meanwhile is told as gone."""
    api.stopped = True
    api.fail((PODS, 503), (PODS, 503))
    api.drop_connections()
    api.remove(PODS, pod(JOBSET, 0)["metadata"]["name"])
    api.put(PODS, pod(JOBSET, 3))
    api.forget_history()
    wait_until(lambda: bool(followed.of(Gone)) and "3" in followed.hosts())
    assert api.requests[f"GET {PODS}"] == 2


def test_an_endless_410_is_asked_at_growing_intervals(
    api: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_LONGEST_PAUSE_SECONDS", 10)
    monkeypatch.setattr(watch, "_FIRST_PAUSE_SECONDS", 0.05)
    api.oldest = 10**9
    found = Followed(api)
    time.sleep(0.5)
    found.follower.stop()
    assert api.requests[f"GET {PODS}"] <= 6


def test_an_outage_is_told_once_and_so_is_its_end(api: FakeApiServer, followed: Followed) -> None:
    api.fail(*[(PODS, 503)] * 5)
    api.drop_connections()
    wait_until(lambda: any(outage.over for outage in followed.of(Outage)))
    assert [outage.over for outage in followed.of(Outage)] == [False, True]
    assert "the JobSet goes on" in followed.of(Outage)[0].text


def test_a_permanent_outage_is_given_up(api: FakeApiServer) -> None:
    api.fail(*[(PODS, 403)] * 1000)
    found = Followed(api, give_up_seconds=0.2)
    wait_until(lambda: bool(found.of(Lost)))
    assert "scripted 403" in found.of(Lost)[0].text


def test_many_objects_come_in_pages(api: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_PAGE", 10)
    for host in range(95):
        api.put(PODS, pod(JOBSET, host))
    found = Followed(api)
    wait_until(lambda: bool(found.of(Listed)))
    found.follower.stop()
    assert len(found.of(Changed)) == 95
    assert api.requests[f"GET {PODS}"] == 10


def test_stopping_wakes_a_silent_watch(api: FakeApiServer, followed: Followed) -> None:
    began = time.monotonic()
    followed.follower.stop()
    followed.follower._thread.join(3)
    assert not followed.follower._thread.is_alive()
    assert time.monotonic() - began < 1


def test_a_server_that_is_not_there_is_named(api: FakeApiServer) -> None:
    connection = Connection(api.kubeconfig())
    api.close()
    with pytest.raises(ClusterError, match="cannot be reached") as error:
        connection.request("GET", JOBSETS)
    assert error.value.status is None


def test_a_log_is_followed_over_lost_connections_without_gaps_or_repeats(
    api: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workloads.provider.logs._PAUSE_SECONDS", 0.01)
    notices: list[Notice] = []
    lines = [f"2026-12-01T10:00:{i // 8:02d}.{i // 4 % 2}Z line {i}" for i in range(80)]
    api.write_log("p", *lines[:10])
    follower = LogFollower(Connection(api.kubeconfig()), "ns", "p", "c", notices.append).start()

    def texts() -> list[str]:
        return [notice.text for notice in notices if isinstance(notice, LogLine)]

    for end in range(10, 81, 10):
        api.write_log("p", *lines[max(10, end - 10) : end])
        wait_until(lambda end=end: len(texts()) == end)  # type: ignore[misc]
        api.drop_connections()
    follower.finish()
    api.end_log("p")
    wait_until(lambda: any(isinstance(notice, LogEnded) for notice in notices))
    assert texts() == [f"line {i}" for i in range(80)]


def test_equal_time_stamps_are_told_apart_by_their_number() -> None:
    cursor = LogCursor()
    stamp = "2026-12-01T10:00:00.5Z"
    assert [cursor.take(f"{stamp} {text}") for text in "ab"] == ["a", "b"]
    cursor.reopened()
    assert [cursor.take(f"{stamp} {text}") for text in "abc"] == [None, None, "c"]
    cursor.reopened()
    again = [cursor.take(f"{stamp} {text}") for text in "abcd"]
    assert again == [None, None, None, "d"]
    assert cursor.since == "2026-12-01T10:00:00Z"


def test_shorter_fractions_sort_where_they_belong() -> None:
    cursor = LogCursor()
    assert cursor.take("2026-12-01T10:00:00.123456789Z a") == "a"
    assert cursor.take("2026-12-01T10:00:00.2Z b") == "b"
    cursor.reopened()
    assert cursor.take("2026-12-01T10:00:00.123456789Z a") is None


def test_hostile_log_lines_are_survived(api: FakeApiServer) -> None:
    notices: list[Notice] = []
    api.write_log("p", "2026-12-01T10:00:00Z " + "x" * 100_000, "\udcff\udcfe no stamp", "")
    api.write_log("p", "2026-12-01T10:00:01Z end")
    api.end_log("p")
    follower = LogFollower(Connection(api.kubeconfig()), "ns", "p", "c", notices.append)
    follower.finish()
    follower.start()
    wait_until(lambda: any(isinstance(notice, LogEnded) for notice in notices))
    texts = [notice.text for notice in notices if isinstance(notice, LogLine)]
    assert texts[0].startswith("xxx")
    assert len(texts[0]) <= 4096
    assert texts[-1] == "end"
