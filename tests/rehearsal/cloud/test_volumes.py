"""Mount paths are found where a manifest means them, and nowhere else."""

from __future__ import annotations

import pytest

from rehearsal.cloud.volumes import Paths, mount_paths

PATHS = Paths({"/export": "/real/a", "/export/inner": "/real/b", "/tmp": "/real/c"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/export", "/real/a"),
        ("/export/inner/x", "/real/b/x"),
        ("dir=/export/x,/tmp", "dir=/real/a/x,/real/c"),
        ("cp '/tmp/a' \"/export\"; ls /tmp", "cp '/real/c/a' \"/real/a\"; ls /real/c"),
        ("/exports", "/exports"),
        ("gs://bucket/export/x", "gs://bucket/export/x"),
        ("$(DIR)/export", "$(DIR)/export"),
        ("${DIR}/export", "${DIR}/export"),
        ("/mnt/tmp", "/mnt/tmp"),
    ],
)
def test_only_whole_mount_paths_are_replaced(text: str, expected: str):
    assert PATHS.on_machine(text) == expected


def test_shared_memory_stays_the_machines_own(tmp_path):
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}]
    found = mount_paths({"volumeMounts": mounts}, {"shm": tmp_path}, tmp_path / "message")
    assert found.on_machine("/dev/shm/x") == "/dev/shm/x"
    assert found.on_machine("/dev/termination-log") == str(tmp_path / "message")
