"""The arguments of the three commands: `key=value` overrides, flags and an optional YAML file."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_MISSING = object()


class ConfigError(Exception):
    """What MaxText refuses before it does anything; its text ends up in the termination log."""


@cache
def known_keys() -> tuple[str, ...]:
    """Return every configuration key of MaxText 0.2.4, as recorded from the real one."""
    return tuple((Path(__file__).parent / "recording" / "keys.txt").read_text().split())


@dataclass(frozen=True)
class Arguments:
    """Overrides and flags of one command."""

    values: dict[str, str]
    flags: dict[str, str]

    def text(self, key: str, default: str | None = None) -> str:
        """Return a value; raise ConfigError when a key without default is missing."""
        value = self.values.get(key, default)
        if value is None:
            raise ConfigError(f"1 validation error for MaxTextConfig\n{key}\n  Field required")
        return value

    def number(self, key: str, default: int) -> int:
        """Return a whole number; raise ConfigError in pydantic's words for anything else."""
        value = self.values.get(key, str(default))
        try:
            return int(value)
        except ValueError:
            raise ConfigError(
                f"1 validation error for MaxTextConfig\n{key}\n  Input should be a valid integer, "
                "unable to parse string as an integer [type=int_parsing, "
                f"input_value={value!r}, input_type=str]"
            ) from None

    def folder(self, key: str) -> str:
        """Return a `gs://` folder with exactly one slash at its end."""
        return self.text(key).rstrip("/") + "/"


def parse(argv: Sequence[str], flags: Collection[str]) -> Arguments:
    """Return the arguments; raise ConfigError for what MaxText does not know.

    A first argument that ends in `.yml` names the configuration file; it changes nothing here.
    """
    words = list(argv[1:] if argv and argv[0].endswith(".yml") else argv)
    values: dict[str, str] = {}
    given: dict[str, str] = {}
    for word in words:
        key, separator, value = word.partition("=")
        if key.startswith("--"):
            if key[2:] not in flags:
                raise ConfigError(f"Unknown command line flag '{key[2:]}'")
            given[key[2:]] = value if separator else "true"
        elif not separator:
            raise ConfigError(f"{word!r} is not of the form key=value")
        elif key.split(".")[0] not in known_keys():
            raise ConfigError(f"{key!r} not in {', '.join(map(repr, known_keys()))}")
        else:
            values[key] = value
    return Arguments(values, given)
