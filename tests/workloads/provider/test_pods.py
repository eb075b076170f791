"""Where pods are stuck, and which one failed first by itself."""

from typing import Any

import pytest

from tests.workloads.provider.fake_api_server import pod
from workloads.provider.pods import describe, facts, first_failed

JOBSET = {"metadata": {"name": "r-sft", "uid": "u"}}


def failed(host: int, code: int, ended: str, attempt: int = 0) -> Any:
    return facts(pod(JOBSET, host, exit_code=code, ended=ended, attempt=attempt))


def test_the_peers_of_a_dead_host_are_not_the_reason() -> None:
    pods = [
        failed(0, 143, "2026-12-01T10:00:05Z"),
        failed(1, 134, "2026-12-01T10:00:04Z"),
        failed(5, 1, "2026-12-01T10:00:05Z"),
        failed(6, 1, "2026-12-01T10:00:09Z"),
    ]
    first = first_failed(pods)
    assert first is not None
    assert first.host_index == 5


def test_when_all_have_a_peers_code_the_earliest_counts() -> None:
    pods = [failed(0, 143, "2026-12-01T10:00:05Z"), failed(3, 143, "2026-12-01T10:00:01Z")]
    first = first_failed(pods)
    assert first is not None
    assert first.host_index == 3


def test_the_newest_attempt_counts() -> None:
    pods = [failed(0, 1, "2026-12-01T10:00:01Z"), failed(1, 2, "2026-12-01T10:09:00Z", attempt=1)]
    first = first_failed(pods)
    assert first is not None
    assert first.exit_code == 2
    assert first_failed([facts(pod(JOBSET))]) is None


def test_an_evicted_pod_tells_its_reason_and_message() -> None:
    item = pod(JOBSET)
    item["status"] = {"phase": "Failed", "reason": "Evicted", "message": "low on resource: disk"}
    found = facts(item)
    assert (found.failed, found.reason, found.last_lines) == (
        True,
        "Evicted",
        "low on resource: disk",
    )


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/9 nodes"}]},
            "0/1 pods running; not scheduled: 0/9 nodes",
        ),
        (
            {"containerStatuses": [
                {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}
            ]},
            "0/1 pods running; ImagePullBackOff: no such image",
        ),
        (
            {"containerStatuses": [{"state": {"waiting": {
                "reason": "CreateContainerConfigError", "message": 'secret "hf" not found'}}}]},
            '0/1 pods running; CreateContainerConfigError: secret "hf" not found',
        ),
        (
            {"containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]},
            "0/1 pods running; image pull or volume set-up",
        ),
        (
            {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]},
            "1/1 pods running",
        ),
    ],
)  # fmt: skip
def test_what_holds_the_pods_up_is_said(status: dict[str, Any], text: str) -> None:
    item = pod(JOBSET)
    item["status"] = {"phase": "Pending", **status}
    assert describe([facts(item)], 1) == text


def test_no_pods_yet_is_said() -> None:
    assert describe([], 8) == "0/8 pods running, 0 created"
