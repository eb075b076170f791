"""A small Pulumi project whose resources are data, driven by the real CLI."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rehearsal.cloud.client import Cloud
from rehearsal.environment import prepare, variables
from rehearsal.toolchain import folder as toolchain

TIMEOUT_SECONDS = 90

PROGRAM = '''
import json, re
import pulumi

class Declared(pulumi.CustomResource):
    def __init__(self, kind, name, inputs, outputs, opts):
        super().__init__(kind, name, {**inputs, **{key: None for key in outputs}}, opts)

made = {}

def resolved(value):
    """Replace `${name.output}` by the output of a resource declared before."""
    if isinstance(value, dict):
        return {key: resolved(item) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item) for item in value]
    found = re.fullmatch(r"\\$\\{(\\w+)\\.([\\w.]+)\\}", value) if isinstance(value, str) else None
    if not found:
        return value
    output = made[found[1]]
    for part in found[2].split("."):
        output = getattr(output, part) if isinstance(output, pulumi.Resource) else output[part]
    return output

declared = json.load(open("declared.json"))
for entry in declared:
    options = pulumi.ResourceOptions(
        provider=made.get(entry.get("provider")),
        depends_on=[made[name] for name in entry.get("after", [])],
        import_=entry.get("import"),
        retain_on_delete=entry.get("retain"),
    )
    inputs = resolved(entry["inputs"])
    for key in entry.get("secret", []):
        inputs[key] = pulumi.Output.secret(inputs[key])
    if entry["type"].startswith("provider:"):
        package = entry["type"].partition(":")[2]
        made[entry["name"]] = pulumi.ProviderResource(package, entry["name"], inputs, options)
    else:
        outputs = entry.get("outputs", [])
        made[entry["name"]] = Declared(entry["type"], entry["name"], inputs, outputs, options)
'''


def start_pulumi(
    folder: Path, environment: Mapping[str, str], *arguments: str
) -> subprocess.Popen[str]:
    """Start the CLI in a session of its own, so that a signal reaches only it."""
    return subprocess.Popen(
        ["pulumi", *arguments, "--non-interactive", "--color=never"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


class Project:
    """A stack of declared resources on a local cloud of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "program"
        self.folder.mkdir()
        self.home = folder / "home"
        (self.folder / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
        (self.folder / "__main__.py").write_text(PROGRAM)
        prepare(self.home)
        self.environment = os.environ | variables(self.home)
        self.run("stack", "init", "dev")

    def declare(self, *entries: dict[str, Any]) -> None:
        """Write what the program declares from now on."""
        (self.folder / "declared.json").write_text(json.dumps(entries))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the CLI in a session of its own, so that a signal reaches only it."""
        return start_pulumi(self.folder, self.environment, *arguments)

    def run(self, *arguments: str, fails: bool = False) -> str:
        """Run the CLI and return what it printed; an unexpected exit code fails the test."""
        with self.start(*arguments) as process:
            output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        assert (process.returncode != 0) is fails, output
        return output

    def up(self, *, fails: bool = False) -> dict[str, str]:
        """Run `up` and return what it did to each resource, by name."""
        self.output = self.run("up", "--yes", "--skip-preview", "--json", fails=fails)
        return self._steps()

    def preview(self) -> dict[str, str]:
        """Run `preview` and return what it would do to each resource, by name."""
        self.output = self.run("preview", "--json")
        return self._steps()

    def refresh(self) -> None:
        """Read every resource again."""
        self.run("refresh", "--yes", "--skip-preview")

    def destroy(self, *, fails: bool = False) -> str:
        """Delete every resource."""
        return self.run("destroy", "--yes", "--skip-preview", fails=fails)

    def resources(self) -> dict[str, dict[str, Any]]:
        """The resources of the state, by name."""
        exported = json.loads(self.run("stack", "export"))
        found = exported["deployment"].get("resources", [])
        return {resource["urn"].rsplit("::", 1)[1]: resource for resource in found}

    def interrupt_when(self, sight: str, *arguments: str) -> str:
        """Run the CLI, send it one SIGINT when it prints `sight`, return what it printed."""
        with self.start(*arguments) as process:
            assert process.stdout is not None
            printed = []
            for line in process.stdout:
                printed.append(line)
                if sight in line:
                    process.send_signal(signal.SIGINT)
                    break
            rest, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        return "".join([*printed, rest])

    def _steps(self) -> dict[str, str]:
        """What the last command did or would do; the steps of a replacement count as one."""
        found = {}
        for document in _documents(self.output):
            event = document.get("resourcePreEvent", {}).get("metadata")
            for step in [*document.get("steps", []), *([event] if event else [])]:
                name, op = step["urn"].rsplit("::", 1)[1], step["op"]
                if op not in ("same", "refresh") and not name.startswith("small-"):
                    found[name] = "replace" if "replace" in op else op
        return found


def _documents(output: str) -> list[dict[str, Any]]:
    """The JSON documents in an output: one whole, or one on each line."""
    decoder, documents, at = json.JSONDecoder(), [], output.find("{")
    while at >= 0:
        try:
            document, length = decoder.raw_decode(output[at:])
        except ValueError:
            length = 1
        else:
            documents.append(document)
        at = output.find("{", at + length)
    return documents


@contextlib.contextmanager
def project(folder: Path) -> Iterator[Project]:
    """A project whose local cloud ends with the test."""
    for name in ("pulumi", "kube", "jobset"):
        if not (toolchain.bin_folder() / name).exists():
            pytest.skip(f"{name} is not in {toolchain.bin_folder()}: run `make setup`")
    found = Project(folder)
    try:
        yield found
    finally:
        Cloud(found.home).down()
