"""Two processes that watch each other, so that killing either one ends the whole cloud.

The keeper is the top. It inherits every orphan below it, and when the daemon ends, however that
happens, it kills what is left. When the keeper itself is killed, the kernel asks the daemon to end,
which stops everything in order. Both hold the home's lock: it is free only when all is gone.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import traceback
from pathlib import Path
from typing import IO

from rehearsal.cloud.activity import Activity
from rehearsal.cloud.daemon import Daemon, write_record
from rehearsal.cloud.lifetime import become_subreaper, kill_descendants, signal_on_parent_death
from rehearsal.cloud.ports import home_token
from rehearsal.cloud.service import CloudServer

LOCK_TIMEOUT_SECONDS = 30


def run(home: Path, ready: IO[str], idle_seconds: float) -> int:
    """Run the cloud of a home until it ends; writes `ready` or the reason why not to a stream."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "logs").mkdir(exist_ok=True)
    # A bare descriptor: nothing may close it before the process itself is gone.
    lock = os.open(home / "daemon.lock", os.O_WRONLY | os.O_CREAT, 0o600)
    signal.alarm(LOCK_TIMEOUT_SECONDS)  # an earlier daemon may be ending; a hung one is an error
    fcntl.flock(lock, fcntl.LOCK_EX)
    signal.alarm(0)
    become_subreaper()
    keeper = os.getpid()
    daemon = os.fork()
    if daemon == 0:
        signal_on_parent_death(signal.SIGTERM, keeper)
        os._exit(_run_daemon(home, keeper, ready, Activity(idle_seconds)))
    ready.close()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.kill(daemon, signal.SIGTERM))
    status = _wait_for(daemon)
    kill_descendants()
    (home / "daemon.json").unlink(missing_ok=True)
    return status


def _wait_for(daemon: int) -> int:
    while True:
        process, status = os.waitpid(-1, 0)  # also collects orphans
        if process == daemon:
            return os.waitstatus_to_exitcode(status)


def _run_daemon(home: Path, keeper: int, ready: IO[str], activity: Activity) -> int:
    for number in (signal.SIGTERM, signal.SIGINT):
        # In a thread: the handler may interrupt the very code that holds the activity's lock.
        signal.signal(number, lambda *_: threading.Thread(target=activity.stop).start())
    daemon = Daemon(home, keeper, activity)
    try:
        write_record(home, keeper)
        daemon.start()
        server = CloudServer(daemon, activity, home_token(home))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print("ready", file=ready, flush=True)
        ready.close()
        activity.wait()
        server.shutdown()
        return 0
    except Exception as error:
        traceback.print_exc()
        if not ready.closed:
            print(f"{type(error).__name__}: {error}".replace("\n", " "), file=ready, flush=True)
        return 1
    finally:
        # From here on orphans come to this process, should the keeper be gone.
        become_subreaper()
        daemon.stop()
        kill_descendants()
