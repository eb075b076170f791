"""The recording that the stand-in trainer writes its object trees from.

`python -m rehearsal.recording` runs the three stages with the real MaxText once more and replaces
the files in `rehearsal/trainer/maxtext/standin/recording/`: names, sizes and small metadata texts.
"""

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from rehearsal import maxtext_run, objectstore

TARGET = Path(__file__).parent / "trainer" / "maxtext" / "standin" / "recording"
# Texts that a reader of a checkpoint looks at; everything else is recorded by its size.
_TEXTS = re.compile(
    r"(.*/)?(_CHECKPOINT_METADATA|commit_success\.txt|_METADATA|\.zarray|process_0"
    r"|config\.json|tokenizer_config\.json|chat_template\.jinja)"
)
_KEYS = (
    "from maxtext.configs.types import MaxTextConfig; "
    "print(*sorted(MaxTextConfig.model_fields), sep='\\n')"
)
_IN_HEADER = "__metadata__"


def record(model: Path, steps: int, target: Path) -> None:
    """Write the recording of a finished run whose objects lie in the folder `model`."""
    target.mkdir(parents=True, exist_ok=True)
    _write(target / "base.json", _tree(model / "max-text-format" / "0"))
    step = model / "trained" / maxtext_run.RUN_NAME / "checkpoints" / str(steps)
    _write(target / "checkpoint.json", _tree(step))
    export = model / "hf-trained" / maxtext_run.RUN_NAME / str(steps)
    files = {
        name: content
        for name, content in _tree(export)[""].items()
        if not name.endswith(".safetensors") and name != maxtext_run.PLACEHOLDER
    }
    _write(
        target / "export.json",
        {"files": files, "tensors": tensors(export / "model.safetensors")},
    )


def tensors(path: Path) -> dict[str, list[int]]:
    """Return name and shape of each tensor that a safetensors file declares."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return {name: entry["shape"] for name, entry in header.items() if name != _IN_HEADER}


def _tree(root: Path) -> dict[str, dict[str, int | str]]:
    tree: dict[str, dict[str, int | str]] = defaultdict(dict)
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root).as_posix()
        folder, _, file = name.rpartition("/")
        size = path.stat().st_size
        tree[folder][file] = _neutral(path.read_text()) if _TEXTS.fullmatch(name) else size
    return tree


def _neutral(text: str) -> str:
    """Replace what belongs to the recorded run alone: its place and its times."""
    text = re.sub(
        r"(commit was successful to )gs://\S*?/(0|checkpoints/\d+)(?=/|$)", r"\1@ROOT@", text
    )
    text = re.sub(r'("init_timestamp_nsecs": )\d+', r"\1@INIT@", text)
    return re.sub(r'("commit_timestamp_nsecs": )\d+', r"\1@COMMIT@", text)


def _write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n")


def main() -> None:
    """Run the real stages in a home of their own and record what they leave."""
    with tempfile.TemporaryDirectory(prefix="rehearsal-recording-") as folder:
        home = Path(folder)
        with maxtext_run.services(home):
            for stage in maxtext_run.STAGES:
                maxtext_run.run_stage(home, stage)
        model = objectstore.data_folder(home) / maxtext_run.BUCKET / maxtext_run.MODEL
        record(model, maxtext_run.STEPS, TARGET)
    python = maxtext_run.interpreter()
    keys = subprocess.run([python, "-c", _KEYS], capture_output=True, text=True, check=True)
    (TARGET / "keys.txt").write_text(keys.stdout)


if __name__ == "__main__":
    main()
