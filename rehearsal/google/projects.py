"""The Google projects of the rehearsal, and why no other may meet this plugin."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.plugin import RefusedError

NUMBERS: Final = {"rehearsal-maxtext": "424242000001", "rehearsal-standin": "424242000002"}
"""Project id -> project number."""


def require_rehearsal(project: Any) -> str:
    """The project, if it is one of the rehearsal's.

    Raises:
        RefusedError: it is not, or is not known; says what would happen on a real stack.
    """
    if isinstance(project, str) and project in NUMBERS:
        return project
    raise RefusedError(
        f"this pulumi-resource-gcp is the rehearsal's stand-in for Google Cloud and refuses the "
        f"project {project!r}: on a real stack it would record creations and deletions that never "
        f"happened, while the real machines go on billing. It serves only {', '.join(NUMBERS)}. "
        f"For Google Cloud take the folder rehearsal/bin off PATH and run "
        f"`pulumi plugin install resource gcp`; for the rehearsal set maxtext-sft:cluster.project."
    )
