"""One message for everything that is wrong in a config block, so that a user fixes it in one go."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound=BaseModel)


def message(problems: Sequence[str]) -> str:
    """Return the one text that lists every problem, for a person who will fix them all."""
    count = len(problems)
    head = f"{count} setting{'s' if count > 1 else ''} of this stack cannot be used:"
    return "\n".join([head, *(f"  - {problem}" for problem in problems)])


def parsed(
    block: str, model: type[Model], value: object, *, secret: bool = False
) -> tuple[Model | None, list[str]]:
    """Return the model read from one config block, or None with one line per bad key.

    `secret` says that the block holds a secret somewhere: no value of it is shown then.
    """
    shown = _hidden if secret else _shown
    if not isinstance(value, Mapping):
        return None, [f"{block} = {shown(value)}: must be a block of keys"]
    try:
        return model.model_validate(dict(value)), []
    except ValidationError as error:
        return None, [_line(block, model, dict(details), shown) for details in error.errors()]


def _line(
    block: str, model: type[BaseModel], details: dict[str, Any], shown: Callable[[object], str]
) -> str:
    path = [str(part) for part in details["loc"]]
    key = ".".join([block, *path])
    description = _description(model, path)
    if details["type"] == "extra_forbidden":
        return f"{key} is unknown. {_nearest(path[-1], model)}"
    if details["type"] == "missing":
        return f"{key} is missing: {description}. Set it with `{command(block, path)}`."
    reason = str(details["ctx"]["error"]) if "error" in details.get("ctx", {}) else details["msg"]
    hint = f" ({description})" if description else ""
    return f"{key} = {shown(details['input'])}: {reason}{hint}. Key to set: {key}"


def command(block: str, path: list[str]) -> str:
    """Return the command that sets a key inside a block."""
    return f"pulumi config set --path {'.'.join([block, *path])} VALUE"


def _description(model: type[BaseModel], path: list[str]) -> str:
    field = model.model_fields.get(path[0]) if path else None
    return (field.description or "").rstrip(".") if field else ""


def _nearest(key: str, model: type[BaseModel]) -> str:
    known = list(model.model_fields)
    near = difflib.get_close_matches(key, known, n=1)
    did_you_mean = f"Did you mean {near[0]}? " if near else ""
    return f"{did_you_mean}Known keys: {', '.join(known)}."


def _shown(value: object) -> str:
    return json.dumps(value, default=str)


def _hidden(_: object) -> str:
    return "[secret]"
