"""The services of a home that every cluster shares: object store, its TLS proxy, the Hub."""

from __future__ import annotations

from pathlib import Path

from rehearsal import hub, objectstore
from rehearsal.cloud.processes import ProcessTable


def start(home: Path, ports: dict[str, int], processes: ProcessTable) -> None:
    """Start every service and return when all are ready. Raises CloudError."""
    for service in (objectstore, hub):
        for name, command in service.commands(home, ports).items():
            processes.start(name, command, directory=home)
    for service in (objectstore, hub):
        for name, url in service.ready_urls(ports).items():
            processes.wait_ready(name, url)
