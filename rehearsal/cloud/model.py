"""The values that the local cloud's clients and its daemon exchange."""

from __future__ import annotations

import dataclasses
from typing import Any


class CloudError(Exception):
    """A refused or failed operation, with Google's code (`NOT_FOUND`, `ALREADY_EXISTS`, ...)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterAccess:
    """How to reach a cluster: what Google answers as `endpoint` and `masterAuth`.

    The certificate, the client's certificate and its key are base64 of PEM, as Google returns them.
    `uid` is one per incarnation: a cluster that is created again has another.
    """

    endpoint: str
    ca_certificate: str
    client_certificate: str
    client_key: str
    uid: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodePool:
    """The part of a GKE node pool that its Node objects show.

    `node_count` is the size of the whole pool; `chips_per_host` 0 means no TPU.
    """

    name: str
    zone: str
    machine_type: str
    node_count: int
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    taints: list[dict[str, str]] = dataclasses.field(default_factory=list)
    chips_per_host: int = 0
    tpu_topology: str | None = None
    memory_gib: float = 32
    disk_size_gb: int = 100


def plain(value: Any) -> dict[str, Any]:
    """Return a value of this module as a JSON object."""
    return dataclasses.asdict(value)
