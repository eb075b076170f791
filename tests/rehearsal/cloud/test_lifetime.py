"""Processes end with their owner, workers in sessions of their own included."""

from __future__ import annotations

import subprocess
import sys

from rehearsal.cloud.lifetime import descendants
from tests.rehearsal.cloud.processlist import running

OWNER = """
import os, subprocess, sys
from rehearsal.cloud.lifetime import become_subreaper, kill_descendants
become_subreaper()
script = "setsid sh -c 'sleep 65.5 & sleep 65.5' & sh -c 'sleep 65.5; :' & echo started; wait"
shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
shell.stdout.readline()
sys.stdin.readline()
kill_descendants()
"""


def test_killing_the_descendants_leaves_nobody_also_not_in_another_session():
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE)
    while len(running("sleep\x0065.5\0")) < 3:
        assert owner.poll() is None
    assert len(descendants(owner.pid)) >= 4
    owner.communicate(b"now\n", timeout=10)
    assert running("sleep\x0065.5\0") == []


def test_a_child_is_killed_when_its_parent_is():
    script = """
import subprocess, sys
from rehearsal.cloud.lifetime import dies_with_parent
child = subprocess.Popen(["sleep", "66.5"], preexec_fn=dies_with_parent(), start_new_session=True)
print("started", flush=True)
sys.stdin.readline()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with parent:
        parent.stdout.readline()
        assert len(running("sleep\x0066.5\0")) == 1
        parent.kill()
        parent.wait()
    while running("sleep\x0066.5\0"):
        pass  # the kernel's signal is on its way; pytest's time-out bounds this
