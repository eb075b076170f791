"""Types of config values: parsed by meaning or refused, because stack files carry strings.

`pulumi config set` writes `"True"` and `"1000"` as readily as `true` and `1000`; `yes`, `1e3` or
`0` for a flag are refused instead of guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator


@dataclass(frozen=True)
class Allowed:
    """What a key's value may be, in words: for the page of all keys, no check by itself."""

    words: str


@dataclass(frozen=True)
class Matching:
    """A check that text matches a whole pattern, which can also say its rule."""

    pattern: str
    rule: str

    def __call__(self, value: str) -> str:
        """Return the value; raise ValueError with the rule when it does not match."""
        if not re.fullmatch(self.pattern, value):
            raise ValueError(self.rule)
        return value


_FLAGS = {"true": True, "True": True, "false": False, "False": False}


def whole(value: Any) -> int:
    """Return a whole number from an int or its decimal digits; raise ValueError otherwise."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    raise ValueError("must be a whole number such as 1000")


def number(value: Any) -> float:
    """Return a number from an int, a float or its text; raise ValueError otherwise."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d*)?([eE][+-]?\d+)?", value):
        return float(value)
    raise ValueError("must be a number such as 2e-5")


def flag(value: Any) -> bool:
    """Return a truth value from true/false or its text; raise ValueError otherwise."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _FLAGS:
        return _FLAGS[value]
    raise ValueError("must be true or false")


def text(value: Any) -> str:
    """Return non-empty text of one line without surrounding blanks; raise ValueError otherwise."""
    if not isinstance(value, str):
        raise ValueError("must be text; quote it in the stack file")
    if value != value.strip() or not value:
        raise ValueError("must not be empty nor begin or end with a blank")
    if not value.isprintable():
        raise ValueError("must be one line of printable text")
    return value


def _positive(value: int | float) -> int | float:
    if value <= 0:
        raise ValueError("must be greater than 0")
    return value


def _not_negative(value: int) -> int:
    if value < 0:
        raise ValueError("must be 0 or more")
    return value


Text = Annotated[str, BeforeValidator(text), Allowed("text")]
Flag = Annotated[bool, BeforeValidator(flag), Allowed("`true` or `false`")]
Count = Annotated[
    int, BeforeValidator(whole), AfterValidator(_positive), Allowed("whole number from 1")
]
CountOrZero = Annotated[
    int, BeforeValidator(whole), AfterValidator(_not_negative), Allowed("whole number from 0")
]
Positive = Annotated[
    float, BeforeValidator(number), AfterValidator(_positive), Allowed("number greater than 0")
]


def matching(pattern: str, rule: str) -> AfterValidator:
    """Return a validator that refuses text not matching the whole pattern, quoting the rule."""
    return AfterValidator(Matching(pattern, rule))
