"""Look, once and before anything is billed, for what would stop the run later."""

import shutil
from collections.abc import Callable, Mapping
from typing import Any

from workloads.provider.objects import bucket_taken

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


def bucket_is_new(bucket: Any) -> list[str]:
    """Return a line when a bucket that is to be created exists, with the settings that help."""
    if not bucket_taken(str(bucket)):
        return []
    return [
        f"gs://{bucket} exists already. If an earlier `pulumi destroy` kept it, set "
        "cluster.adopt_bucket: true to take it back with its results; if it is somebody else's, "
        "set cluster.existing_bucket: true to use it as it is, or choose another cluster.bucket"
    ]


# One entry per input of the resource: a further check is one function and one line here.
CHECKS: Mapping[str, Callable[[Any], list[str]]] = {
    "commands": commands_on_path,
    "new_bucket": bucket_is_new,
}
# Once the stack stands, what these look for is its own.
_ONLY_AT_FIRST = {"new_bucket"}


def problems(inputs: Mapping[str, Any], *, first: bool = True) -> list[str]:
    """Run every check whose input is given; return what is missing.

    `first` tells that the stack is new; a later run leaves out what the stack itself has made.
    """
    due = [key for key in CHECKS if key in inputs and (first or key not in _ONLY_AT_FIRST)]
    return [line for key in due for line in CHECKS[key](inputs[key])]


def unknown_inputs(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (property, reason) for inputs that no check knows: a typing error must not pass."""
    allowed = ", ".join(sorted(CHECKS))
    return [
        (k, f"is not a check; allowed are {allowed}") for k in sorted(set(inputs) - set(CHECKS))
    ]
