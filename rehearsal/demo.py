"""The demo: one stack's whole life on the local cloud, with everything it leaves on the way."""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rehearsal.cli import Stack
from rehearsal.cloud.client import Cloud
from rehearsal.environment import prepare, variables
from rehearsal.listing import listing, stored_objects
from rehearsal.losscurve import draw, falls
from rehearsal.maxtext_run import compare
from rehearsal.plan import stack_config
from rehearsal.trainers import trainer
from rehearsal.trainlog import loss_points

LISTED_OBJECTS = 12
CLUSTER_KEY = "maxtext-sft:cluster"


class DemoError(Exception):
    """The demo ran to its end, but what it left is not what a run has to leave."""


def demo(stack: Stack, *, keep: bool) -> None:
    """Run `up`, show what each stage left and the outputs, run `destroy`, end the local cloud.

    Args:
        stack: the stack to run.
        keep: leave the stack and its cloud up for a closer look.

    Raises:
        subprocess.CalledProcessError: if `up` or `destroy` fails; the cloud is ended all the same.
        DemoError: if another demo runs in this home, the training's loss does not fall, or the
            export is not what was trained.
    """
    prepare(stack.home)
    with alone(stack.home):
        _demo(stack, keep=keep)


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Keep a second demo out of a home: at its end it would take the first one's cloud away.

    Raises:
        DemoError: if another demo runs there.
    """
    with (home / "demo.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoError(
                f"another demo runs in {home}: wait for its end, or set REHEARSAL_HOME to another"
                " folder for this one"
            ) from None
        yield


def _demo(stack: Stack, *, keep: bool) -> None:
    # From here on this process is a user's shell: Google's and Kubernetes' clients find the cloud.
    os.environ.update(variables(stack.home))
    cloud = Cloud(stack.home)
    started = time.monotonic()
    try:
        stack.ensure()
        start_afresh(stack, cloud)
        stack.run("up", "--yes", "--skip-preview", "--suppress-outputs")
        outputs = stack.outputs()
        show_stages(outputs)
        show_loss(stack)
        if trains_for_real(stack):
            show_export(outputs, stack)
        heading("outputs")
        print(json.dumps(outputs, indent=2))
        if not keep:
            heading("pulumi destroy")
            stack.run("destroy", "--yes", "--skip-preview", "--suppress-outputs")
    finally:
        if not keep:
            cloud.down()
    heading("done")
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    print(f"stack {stack.name} took {minutes}:{seconds:02d}")
    if keep:
        print(f'it is still up: reach it with eval "$(make -s env STACK={stack.name})"')
        print("end it with make clean")
    else:
        print(f"nothing is left running; results and records stay in {stack.home / 'objects'}")


def start_afresh(stack: Stack, cloud: Cloud) -> None:
    """Remove what an earlier demo of a stack that is not up left in its project.

    `destroy` keeps the results, so a second run would find everything proven and show nothing.
    """
    place = place_of(stack)
    what = "the real MaxText, on CPU" if trains_for_real(stack) else "the stand-in"
    print(f"trainer of project {place['project']}: {what}", flush=True)
    if stack.resource_count():
        print(f"stack {stack.name} is up already, so only what is missing will run")
        return
    if cloud.bucket_exists(place["bucket"]):
        print(f"removing the results of the last demo, gs://{place['bucket']}/", flush=True)
        cloud.delete_bucket(place["bucket"], force=True)
    shutil.rmtree(stack.home / "google" / place["project"], ignore_errors=True)


def show_stages(outputs: dict[str, Any]) -> None:
    """Print the objects of each stage, in the order of the run."""
    for stage in outputs["stages"]:
        heading(f"{stage['name']}: what it left, as `gcloud storage ls -l` shows it")
        directory = stage["record"].rpartition("/")[0] + "/"
        print("\n".join(listing(stored_objects(directory), LISTED_OBJECTS)))


def show_loss(stack: Stack) -> None:
    """Draw the training's loss into a picture file.

    Raises:
        DemoError: if the loss does not fall.
    """
    points = loss_points()
    path = loss_picture(stack)
    draw(points, f"{stack.name}: loss of {len(points)} steps", path)
    heading("training")
    (first_step, first), (last_step, last) = points[0], points[-1]
    print(f"loss {first:.3f} at step {first_step}, {last:.3f} at step {last_step}; curve in {path}")
    if not falls(points):
        raise DemoError("the loss did not fall, so this was no training")


def show_export(outputs: dict[str, Any], stack: Stack) -> None:
    """Compare the exported tensors with the trained checkpoint, value by value.

    Raises:
        DemoError: if one tensor differs from the checkpoint cast to bfloat16.
    """
    urls = {stage["name"]: stage["url"] for stage in outputs["stages"]}
    heading("export")
    found = compare(stack.home, "trained", urls["sft"], urls["mt-to-hf"])
    if not found["agrees"]:
        raise DemoError(f"the export is not what was trained: {json.dumps(found)}")
    print(f"all {found['tensors']} tensors equal the checkpoint cast to bfloat16, value by value")


def place_of(stack: Stack) -> dict[str, Any]:
    """Return the `cluster` block of a stack's file."""
    config = stack_config(stack.program / f"Pulumi.{stack.name}.yaml")
    place: dict[str, Any] = json.loads(config[CLUSTER_KEY])
    return place


def trains_for_real(stack: Stack) -> bool:
    """Return whether the hosts of a stack's project run the real MaxText."""
    return trainer(place_of(stack)["project"]) == "MaxText"


def loss_picture(stack: Stack) -> Path:
    """Return where the picture of a stack's loss goes."""
    return stack.home / f"loss-{stack.name}.png"


def heading(text: str) -> None:
    """Print a heading that stands out between the lines of other programs."""
    print(f"\n== {text}", flush=True)
