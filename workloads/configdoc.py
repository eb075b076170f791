"""The page of all config keys, written from the models that judge them.

`python -m workloads.configdoc > docs/config.md` writes it; a test holds the two together.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo

from infra.config import ClusterConfig
from infra.fields import Allowed, Matching
from workloads.config import RunConfig

HEAD = """\
# Settings

A stack is a file `Pulumi.<stack>.yaml` with two blocks of keys and one secret; start from one of
[examples/](../examples). A key is set in the file or with
`pulumi config set --path cluster.tpu v6e-32`. A key that is unknown, missing or refused stops
`pulumi preview` before anything exists, with one message for all of them.

This page is written by `python -m workloads.configdoc > docs/config.md`.
"""
TOKEN = """\
## hf_token

The Hugging Face access token, for models with a licence to accept. It is kept in a Secret of the
cluster and never shown: `pulumi config set --secret hf_token`. Without it the Hub is asked
anonymously.
"""
BLOCKS: dict[str, tuple[type[BaseModel], str]] = {
    "cluster": (ClusterConfig, "Where the run happens."),
    "run": (
        RunConfig,
        "What runs; `{}` is the guide's run. More `steps` continue a run. Any other change of\n"
        "what is trained needs a new `name`, since MaxText resumes whatever lies in a directory.\n"
        "Image, profiler, checkpoints, restarts and timeouts can change at any time.",
    ),
}


def page() -> str:
    """Return the whole page as Markdown."""
    blocks = [
        f"## {block}\n\n{text}\n\n{table(model)}\n" for block, (model, text) in BLOCKS.items()
    ]
    return "\n".join([HEAD, *blocks, TOKEN])


def table(model: type[BaseModel]) -> str:
    """Return one row for each key of a block."""
    rows = [
        ("key", "allowed", "default", "meaning"),
        ("---",) * 4,
        *(
            (f"`{name}`", allowed(field.rebuild_annotation()), default(field), field.description)
            for name, field in model.model_fields.items()
        ),
    ]
    return "\n".join(f"| {' | '.join(_cell(text) for text in row)} |" for row in rows)


def allowed(annotation: Any) -> str:
    """Return in words what a value of this type may be."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _last(_words(parts[1:])) or allowed(parts[0])
    if origin in (Union, types.UnionType):
        return " or ".join(allowed(part) for part in parts if part is not type(None))
    if origin is tuple:
        return f"list of: {allowed(parts[0])}"
    if origin is dict:
        return f"block of `key: value`, each value: {allowed(parts[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{member.value}`" for member in annotation)
    return ""


def default(field: FieldInfo) -> str:
    """Return the value of a key that a stack file leaves out."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Enum):
        return f"`{value.value}`"
    return f"`{getattr(value, 'name', value)}`"


def _words(metadata: Iterable[object]) -> list[str]:
    words = []
    for item in metadata:
        if isinstance(item, Allowed):
            words.append(item.words)
        if isinstance(item, AfterValidator) and isinstance(item.func, Matching):
            words.append(item.func.rule.removeprefix("must be "))
    return words


def _last(words: list[str]) -> str:
    return words[-1] if words else ""


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
