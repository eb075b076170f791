"""What a user reads at the end: how to load the model and what still costs money."""

from __future__ import annotations

from infra.config import ClusterConfig
from infra.prices import always_on
from workloads.config import RunConfig
from workloads.stage import Stage

KEPT = " (keeps the bucket; cluster.adopt_bucket: true takes it back in a later `pulumi up`)"


def still_billing(place: ClusterConfig) -> list[str]:
    """Return what bills until it is destroyed, one line each, last the command that stops it."""
    kept = "" if place.delete_bucket_on_destroy else KEPT
    return [
        *(part.line for part in always_on(place)),
        f"stop it with `pulumi destroy`{kept}",
    ]


def loading(last: Stage, run: RunConfig) -> list[str]:
    """Return the commands that fetch the exported model and load it with transformers."""
    loader = f"transformers.AutoModelForCausalLM.from_pretrained('{run.name}')"
    return [
        f"gcloud storage cp --recursive {last.url} {run.name}",
        f'python3 -c "import transformers; {loader}"',
    ]
