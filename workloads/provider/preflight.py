"""Look, once and before anything is billed, for what would stop the run later."""

import shutil
from collections.abc import Callable, Mapping
from typing import Any

from workloads.provider.buckets import (
    adopted_bucket_problems,
    existing_bucket_problems,
    new_bucket_problems,
)

_INSTALL = {
    "gke-gcloud-auth-plugin": "gcloud components install gke-gcloud-auth-plugin",
    "gcloud": "https://cloud.google.com/sdk/docs/install",
    "kubectl": "gcloud components install kubectl",
}


def commands_on_path(commands: Any) -> list[str]:
    """Return one line for each command that is not on PATH, with how to install it."""
    return [
        f"{command} is not on PATH: {_INSTALL.get(command, 'install it')}"
        for command in commands or ()
        if shutil.which(command) is None
    ]


# One entry per input of the resource: a further check is one function and one line here.
CHECKS: Mapping[str, Callable[[Any], list[str]]] = {
    "commands": commands_on_path,
    "new_bucket": new_bucket_problems,
    "adopted_bucket": adopted_bucket_problems,
    "existing_bucket": existing_bucket_problems,
}
# Each names the results bucket; a stack has one.
_BUCKETS = frozenset(CHECKS) - {"commands"}


def problems(inputs: Mapping[str, Any], passed: Mapping[str, Any] | None = None) -> list[str]:
    """Run every check whose input is given; return what is missing.

    `passed` are the inputs of the last time when nothing was missing. A bucket that passed then is
    the stack's own by now, so that it exists says nothing any more.

    Raises ObjectStoreError when Cloud Storage cannot be asked.
    """
    settled = {(passed or {}).get(key) for key in _BUCKETS}
    return [
        line
        for key, check in CHECKS.items()
        if key in inputs and not (key in _BUCKETS and inputs[key] in settled)
        for line in check(inputs[key])
    ]


def unknown_inputs(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (property, reason) for inputs that no check knows: a typing error must not pass."""
    allowed = ", ".join(sorted(CHECKS))
    return [
        (k, f"is not a check; allowed are {allowed}") for k in sorted(set(inputs) - set(CHECKS))
    ]
