"""Dialogues of the rehearsal's own: a small rule that a tiny model learns in a few steps."""

import random
from typing import TypedDict

COUNT = 200
_NOUNS = (
    "river",
    "stone",
    "cloud",
    "apple",
    "train",
    "window",
    "garden",
    "lamp",
    "bridge",
    "paper",
)
_QUALITIES = ("red", "blue", "small", "large", "quiet", "bright", "old", "new", "soft", "cold")


class Message(TypedDict):
    """One turn, as ultrachat's `messages` column has it."""

    role: str
    content: str


def dialogues() -> list[list[Message]]:
    """Return the same 200 dialogues of four turns each time."""
    choice = random.Random(0)
    return [_dialogue(choice) for _ in range(COUNT)]


def _dialogue(choice: random.Random) -> list[Message]:
    thing = f"{choice.choice(_QUALITIES)} {choice.choice(_NOUNS)}"
    times = choice.randint(2, 5)
    quality, noun = thing.split()
    return [
        {"role": "user", "content": f"Write {thing} {times} times."},
        {"role": "assistant", "content": " ".join([thing] * times) + "."},
        {"role": "user", "content": f"And what is the {noun} like?"},
        {"role": "assistant", "content": f"The {noun} is {quality}."},
    ]
