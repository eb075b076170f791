"""The trainer's log lines, and the one line made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.provider.progress import Progress, Throttle, cost, duration

PREFIX = "I1201 04:35:43.612776 140055568911232 metric_logger.py:230] "


def line(step: int, seconds: float = 2.0, loss: str = "1.500") -> str:
    return (
        f"{PREFIX}completed step: {step}, seconds: {seconds:.3f}, TFLOP/s/device: 190.000, "
        f"Tokens/s/device: 1024.000, total_weights: 136, loss: {loss}, lm_loss: 0.000, "
        "perplexity: 1023.593"
    )


def test_step_loss_pace_and_time_left_are_read() -> None:
    progress = Progress(total_steps=1000)
    assert progress.read(line(1, 113.5, "6.931"))
    for step in range(2, 101):
        progress.read(line(step))
    assert progress.line() == "step 100/1000, loss 1.500, 2 s/step, 30 min left"
    assert progress.figures() == {
        "first_loss": 6.931,
        "last_loss": 1.5,
        "seconds_per_step": 2.0,
        "tokens_per_second_per_chip": 1024.0,
    }


def test_compilation_is_no_part_of_the_pace() -> None:
    progress = Progress(total_steps=20)
    for step in range(1, 8):
        progress.read(line(step, 100))
    progress.read(line(8, 2))
    assert progress.seconds_per_step == 2


@pytest.mark.parametrize("first", [1, 751])
def test_the_first_step_of_an_attempt_foretells_no_end(first: int) -> None:
    """It holds the compilation: 43 s for a step of 0.2 s would promise hours."""
    progress = Progress(total_steps=1000)
    progress.read(line(first, 43.1))
    assert progress.line() == f"step {first}/1000, loss 1.500"
    progress.read(line(first + 1, 0.2))
    assert progress.seconds_per_step == 0.2


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        (f"{PREFIX}completed profiler activation/deactivation step: 6", "step", 6),
        ("Finished save (blocking + background) in 3.1 seconds @ gs://b/r/checkpoints/1000",
         "saved_step", 1000),
        ("Restored params from step: 8 in 2.043 seconds", "restored_step", 8),
        ("Train loop finished in: 12 s", "phase", "saving the last checkpoint"),
        ("Conversion complete. Checkpoint saved to x", "phase", "conversion complete"),
        (line(5).replace("seconds: 2.000,", "seconds: 2.000, live slice count: 2,"), "step", 5),
    ],
)  # fmt: skip
def test_other_markers_are_read(text: str, field: str, value: object) -> None:
    progress = Progress()
    assert progress.read(text)
    assert getattr(progress, field) == value


def test_a_loss_that_is_no_number_does_not_reach_the_record() -> None:
    progress = Progress()
    progress.read(line(1))
    progress.read(line(2, loss="nan"))
    assert "last_loss" not in progress.figures()
    progress.read(line(3, loss="inf"))
    assert "last_loss" not in progress.figures()


@given(st.text() | st.text().map(lambda text: line(3) + text + "completed step: "))
def test_any_line_is_survived(text: str) -> None:
    progress = Progress(total_steps=3)
    progress.read(text)
    progress.line()


def test_the_same_kind_of_news_waits_for_the_interval() -> None:
    throttle = Throttle(30)
    shown = [throttle.due(kind, now) for kind, now in
             [("a", 0), ("a", 1), ("b", 2), ("b", 31), ("b", 32), ("b", 62)]]  # fmt: skip
    assert shown == [True, False, True, False, True, True]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (61, "1 min 1 s"), (3599, "59 min"), (11100, "3 h 05 min")],
)
def test_durations_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_money_is_told_only_when_the_price_is_known() -> None:
    assert cost(86.4, 3600) == "$86.40"
    assert cost(None, 3600) == ""
