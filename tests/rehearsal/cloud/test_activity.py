"""The daemon ends when idle, and only then."""

from __future__ import annotations

import threading
import time

from rehearsal.cloud.activity import Activity


def waiter(activity: Activity) -> threading.Thread:
    thread = threading.Thread(target=activity.wait, daemon=True)
    thread.start()
    return thread


def test_it_waits_for_requests_and_clusters_and_then_for_the_idle_time():
    activity = Activity(0.1)
    with activity.request() as accepted:
        assert accepted
        thread = waiter(activity)
        thread.join(0.2)
        assert thread.is_alive(), "a request is being served"
        activity.hold(1)
    thread.join(0.2)
    assert thread.is_alive(), "there is a cluster"
    began = time.monotonic()
    activity.hold(0)
    thread.join(2)
    assert not thread.is_alive()
    assert time.monotonic() - began >= 0.1


def test_after_the_end_no_request_is_accepted():
    activity = Activity(60)
    thread = waiter(activity)
    activity.stop()
    thread.join(2)
    assert not thread.is_alive()
    with activity.request() as accepted:
        assert not accepted
