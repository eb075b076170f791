"""The plan of a stack: the real program, run under mocks, told in a page.

It needs only the Python packages, so it is the first thing a newcomer sees while the toolchain is
still being built, and it contacts nothing.
"""

import argparse
import asyncio
import json
import runpy
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi.runtime import mocks

from rehearsal.environment import CHECKOUT

PROJECT = "maxtext-sft"
STAGE_TYPE = "maxtext:index:Stage"

Resources = list[mocks.MockResourceArgs]


@dataclass
class Recorder(mocks.Mocks):
    """Mocks that answer every resource with its own inputs and keep what was declared."""

    resources: Resources = field(default_factory=list)

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        """Record a resource and answer with its inputs."""
        self.resources.append(args)
        return args.name, dict(args.inputs)

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]]]:
        """Answer an invoke with its arguments."""
        return dict(args.args), []


def stack_config(stack_file: Path) -> dict[str, str]:
    """Return a stack file's plain config as the engine hands it to a program."""
    document = yaml.safe_load(stack_file.read_text()) or {}
    values = document.get("config") or {}
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in values.items()
        if not (isinstance(value, dict) and "secure" in value)
    }


def declared_resources(stack: str, program: Path = CHECKOUT) -> Resources:
    """Run the program of `stack` in preview under mocks and return what it declares, in order.

    Raises:
        Exception: whatever the program raises, for example for a bad config value.
    """
    recorder = Recorder()
    # The SDK works on the thread's current event loop, which nobody else has made.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    mocks.set_mocks(recorder, project=PROJECT, stack=stack, preview=True)
    pulumi.runtime.set_all_config(stack_config(program / f"Pulumi.{stack}.yaml"))
    sys.path.insert(0, str(program))

    def run() -> None:
        runpy.run_path(str(program / "__main__.py"), run_name="__main__")

    try:
        pulumi.runtime.test(run)()  # type: ignore[no-untyped-call]
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    return recorder.resources


def stage_lines(number: int, inputs: dict[str, Any]) -> list[str]:
    """Return what one stage will run, from the manifest in its resource's inputs."""
    job = inputs["manifest"]["spec"]["replicatedJobs"][0]
    spec = job["template"]["spec"]
    container = spec["template"]["spec"]["containers"][0]
    words = [*container["command"], *container["args"]]
    module = words[words.index("-m") + 1]
    chips = container["resources"].get("limits", {}).get("google.com/tpu")
    pods = int(job["replicas"] * spec["parallelism"])
    place = f"{pods} pods x {int(chips)} chips" if chips else "1 pod, no chips"
    arguments = words[words.index("-m") + 2 :]
    return [
        f"  {number} {inputs['stage']}: python3 -m {module}",
        f"      {place}, at most {int(inputs['timeout_minutes'])} minutes an attempt;"
        f" leaves {inputs['url']}",
        *(f"      {argument}" for argument in arguments),
    ]


def plan_lines(stack: str, config: dict[str, str], resources: Resources) -> list[str]:
    """Return the plan of a stack: where, what is made, what runs in order, what it costs."""
    cluster = json.loads(config[f"{PROJECT}:cluster"])
    stages = [dict(item.inputs) for item in resources if item.typ == STAGE_TYPE]
    made = Counter(
        item.typ.rpartition(":")[2]
        for item in resources
        if item.typ.startswith(("gcp:", "kubernetes:"))
    )
    lines = [
        f"plan of stack {stack}, from the program itself; nothing is contacted or made",
        f"where: project {cluster['project']}, {cluster['zone']}, cluster {cluster['name']},"
        f" {cluster['tpu']}, results in gs://{cluster['bucket']}/",
        "makes: " + ", ".join(f"{count} {kind}" for kind, count in sorted(made.items())),
        "runs, each awaited and proven by the objects it left:",
    ]
    for number, inputs in enumerate(stages, start=1):
        lines += stage_lines(number, inputs)
    if stages:
        lines.append("bills on Google Cloud at list prices (here: nothing):")
        lines += [f"  {line}" for line in stages[0]["still_billing"]]
    return lines


def main() -> None:
    """Print the plan of one stack."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.plan", description=__doc__)
    parser.add_argument("--stack", default="rehearsal")
    stack = parser.parse_args().stack
    config = stack_config(CHECKOUT / f"Pulumi.{stack}.yaml")
    print("\n".join(plan_lines(stack, config, declared_resources(stack))), flush=True)


if __name__ == "__main__":
    main()
