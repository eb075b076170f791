import os
import subprocess
import sys
import threading
from pathlib import Path

from rehearsal.bench.processes import (
    PeakMemory,
    Sampler,
    peak_memory_mib,
    processor_seconds,
    providers,
    used_bytes,
)


def test_the_provider_of_a_home_is_told_from_those_of_others(tmp_path: Path) -> None:
    # A process that tells when it is there, then waits, and looks like a provider.
    command = [sys.executable, "-c", "print(flush=True); input()", "workloads.provider"]
    homes = [tmp_path / "home", tmp_path / "home-of-another"]
    waiting = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "REHEARSAL_HOME": str(home)},
        )
        for home in homes
    ]
    peak = PeakMemory(homes[0])
    try:
        for process in waiting:
            assert process.stdout is not None
            process.stdout.readline()
        assert providers(homes[0]) == [waiting[0].pid]
        peak.read()
        assert peak.mib > 1
    finally:
        for process in waiting:
            process.communicate(b"\n")
    assert providers(homes[0]) == []
    peak.read()
    assert peak.mib > 1


def test_memory_and_time_of_a_process_are_the_kernels() -> None:
    peak = peak_memory_mib(os.getpid())
    assert peak is not None
    assert 5 < peak < 4096
    assert processor_seconds(os.getpid()) > 0


def test_a_process_that_is_gone_has_neither_memory_nor_time() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert peak_memory_mib(process.pid) is None
    assert processor_seconds(process.pid) == 0


def test_a_file_with_two_names_takes_its_place_once(tmp_path: Path) -> None:
    empty = used_bytes(tmp_path)
    (tmp_path / "a").write_bytes(os.urandom(100_000))
    one = used_bytes(tmp_path)
    assert 100_000 <= one - empty < 200_000
    os.link(tmp_path / "a", tmp_path / "b")
    assert used_bytes(tmp_path) == one


def test_a_folder_that_is_not_there_takes_nothing(tmp_path: Path) -> None:
    assert used_bytes(tmp_path / "absent") == 0


def test_a_sampler_looks_while_the_body_runs_and_once_more_at_its_end() -> None:
    looked = threading.Semaphore(0)
    with Sampler(looked.release, every_seconds=0.001):
        for _ in range(3):
            assert looked.acquire(timeout=10)
    assert looked.acquire(timeout=10)
