"""The labels of everything that takes labels, from one function, so that one selector finds all."""

from __future__ import annotations

from collections.abc import Mapping

PART_OF = "maxtext-sft"


def kubernetes_labels(name: str) -> dict[str, str]:
    """Return the recommended Kubernetes labels of an object of ours called by its role."""
    return {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/part-of": PART_OF,
        "app.kubernetes.io/managed-by": "pulumi",
    }


def google_labels(own: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a Google Cloud resource: ours and those of the organisation."""
    return {**own, "part-of": PART_OF, "managed-by": "pulumi"}
