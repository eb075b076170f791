"""The loss of a training run, read from its log and drawn as a picture file."""

from collections.abc import Sequence
from pathlib import Path

LossPoint = tuple[int, float]


def draw(points: Sequence[LossPoint], title: str, path: Path) -> None:
    """Write a PNG of loss over training step to `path`.

    Raises:
        ValueError: if there is no point to draw.
    """
    if not points:
        raise ValueError(f"no 'completed step' line was found, so there is no curve for {path}")
    # Imported here: matplotlib takes most of a second and only this function needs it.
    import matplotlib

    matplotlib.use("Agg")  # a file, never a window
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    steps, losses = zip(*points, strict=True)
    axes.plot(steps, losses, linewidth=1.2)
    axes.set(title=title, xlabel="step", ylabel="loss")
    axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def falls(points: Sequence[LossPoint]) -> bool:
    """Return whether the mean of the last fifth lies below the mean of the first fifth."""
    part = max(1, len(points) // 5)
    first = [loss for _, loss in points[:part]]
    last = [loss for _, loss in points[-part:]]
    return bool(points) and sum(last) / len(last) < sum(first) / len(first)
