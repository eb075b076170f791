"""What resource types may ask and do: the state files and the local cloud behind them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rehearsal.google.state import State
from rehearsal.plugin import RefusedError

if TYPE_CHECKING:
    from rehearsal.cloud.client import Cloud

RESERVATIONS: Final = {
    "rehearsal-v6e": {"machine_type": "ct6e-standard-4t", "hosts": 8, "zone": "us-east5-b"}
}
"""The reservations of a project that has no reservations.json."""


class World:
    """The stand-in's Google Cloud of one home."""

    def __init__(self, state: State, cloud: Callable[[], Cloud]) -> None:
        self.state = state
        self._start = cloud

    @functools.cached_property
    def cloud(self) -> Cloud:
        """The local cloud, started on first use: previews and refusals never need it."""
        return self._start()

    def running(self) -> Cloud:
        """The local cloud, after making sure that it runs."""
        self.cloud.ensure_running()
        return self.cloud

    def is_enabled(self, project: str, service: str) -> bool:
        """Whether an API is enabled in the project."""
        token = "gcp:projects/service:Service"
        return self.state.read(project, token, f"{project}/{service}") is not None

    def require_service(self, project: str, service: str) -> None:
        """Refuse, as Google does, what belongs to an API that is not enabled."""
        if not self.is_enabled(project, service):
            raise RefusedError(
                f"googleapi: Error 403: {service} has not been used in project {project} before or "
                f"it is disabled. Enable it, then retry., accessNotConfigured"
            )

    def require(self, project: str, kind: str, object_id: str) -> None:
        """Refuse what refers to an object that does not exist."""
        if self.state.read(project, kind, object_id) is None:
            raise RefusedError(
                f"googleapi: Error 404: The resource '{object_id}' was not found, notFound"
            )

    def require_service_account(self, project: str, email: str) -> None:
        """Refuse an account of this project that does not exist; Google's own do."""
        if not email.endswith(f"@{project}.iam.gserviceaccount.com"):
            return
        account = f"projects/{project}/serviceAccounts/{email}"
        if self.state.read(project, "gcp:serviceaccount/account:Account", account) is None:
            raise RefusedError(
                f"googleapi: Error 400: Service account {email} does not exist., badRequest"
            )
