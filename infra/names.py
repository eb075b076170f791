"""Names that several parts must agree on: who writes them and who refers to them read them here."""

from __future__ import annotations

import hashlib
import re

SERVICE_ACCOUNT = "maxtext"
TOKEN_SECRET = "hf-token"
TOKEN_KEY = "token"
ENVIRONMENT_SECRET = "run-environment"
SYSTEM_POOL = "system"
CONVERSION_POOL = "conversion"
CONVERSION_TAINT = "maxtext-sft/conversion"


def tpu_pool(index: int) -> str:
    """Return the name of the pool that is slice number `index`."""
    return f"tpu-{index}"


def namespace_of(stack: str) -> str:
    """Return the namespace of a stack: its name, or where Kubernetes refuses it a hashed form.

    One for each stack, since clusters of one project share one identity pool: two stacks with the
    same namespace and account would share their rights to buckets.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", stack.lower()).strip("-")
    name = f"maxtext-{plain}"
    if plain == stack and len(name) <= 63:
        return name
    return f"{name[:54].rstrip('-')}-{hashlib.sha256(stack.encode()).hexdigest()[:8]}"
