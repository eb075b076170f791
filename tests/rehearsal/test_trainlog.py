from rehearsal.trainlog import steps_of

PREFIX = "I1201 04:35:43.612776 140055568911232 metric_logger.py:230] "


def step(number: int, loss: float) -> str:
    return (
        f"{PREFIX}completed step: {number}, seconds: 0.200, TFLOP/s/device: 0.001, "
        f"Tokens/s/device: 9.000, total_weights: 136, loss: {loss:.3f}, lm_loss: 0.000, "
        "perplexity: 1023.593"
    )


def test_every_step_of_a_log_is_a_point_of_the_curve() -> None:
    lines = ["JAX started", step(1, 2.5), "Finished save", step(2, 2.25)]
    assert steps_of(lines) == [(1, 2.5), (2, 2.25)]


def test_a_step_that_was_trained_again_counts_with_its_last_loss() -> None:
    assert steps_of([step(1, 2.5), step(2, 2.25), step(2, 2.0)]) == [(1, 2.5), (2, 2.0)]


def test_a_log_without_steps_has_no_points() -> None:
    assert steps_of(["Traceback (most recent call last):"]) == []
