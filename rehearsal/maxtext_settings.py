"""How the real MaxText is told to train a tiny model, without a change to its arguments.

MaxText reads its YAML files from `MAXTEXT_CONFIGS_DIR` and any key from `M_<KEY>`. Model sizes are
no such keys, hence a copy of the package's files with one model file rewritten. A key given both
as an argument and as `M_<KEY>` is an error, so a variable is left out where the program sets it.
"""

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from rehearsal import tinymodel
from rehearsal.cache import cache_folder

# Part of the environment's key: raise it when what is written into the environment changes.
VERSION = "1"

_KEYS = {
    "hardware": "cpu",
    # One packed sequence of the 200 short dialogues; the default 2048 would run out of them.
    "max_target_length": "128",
    # A model of 2.3 million parameters from random weights learns nothing at the default 2e-5.
    "learning_rate": "1e-3",
    # 750 lines of settings at the head of each log.
    "log_config": "False",
}


def overrides(given: Collection[str]) -> dict[str, str | None]:
    """Return the `M_<KEY>` variables, without the keys in `given` (the program's arguments)."""
    keys = {**_KEYS, "jax_cache_dir": str(compile_cache())}
    return {f"M_{key.upper()}": value for key, value in keys.items() if key not in given}


def compile_cache() -> Path:
    """Return the folder of compiled steps that every run on this machine shares."""
    return cache_folder() / "maxtext-compiled"


def configs_folder(environment: Path) -> Path:
    """Return the copy of MaxText's configuration inside an environment."""
    return environment / "configs"


def write_configs(environment: Path) -> None:
    """Copy the installed package's configuration and shrink the Gemma 4 31B in it."""
    (package,) = environment.glob("lib/python3*/site-packages/maxtext/configs")
    target = configs_folder(environment)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(package, target, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    model = target / "models" / "gemma4-31b.yml"
    model.write_text(shrunk(model.read_text()))


def shrunk(text: str) -> str:
    """Return a model file with the tiny model's sizes; raise ValueError where one is not found."""
    for key, value in tinymodel.SIZES.items():
        text, count = re.subn(rf"(?m)^{key}:.*$", f"{key}: {value}", text)
        if count != 1:
            raise ValueError(f"{key} stands {count} times in MaxText's model file, expected once")
    return text
