"""What a person reads while the tools are built."""

import io

import pytest

from rehearsal.toolchain.progress import LINK_SHARE, BuildProgress, Lines, duration


@pytest.fixture
def progress() -> BuildProgress:
    return BuildProgress({"small": 10, "large": 90}, started=0.0)


def test_nothing_is_promised_before_anything_is_done(progress: BuildProgress) -> None:
    assert progress.fraction() == 0
    assert progress.seconds_left(now=30) is None
    assert progress.text(now=30) == "0%, 0 of 2 packages"


def test_a_large_package_counts_more_than_a_small_one(progress: BuildProgress) -> None:
    progress.finish("large")
    assert progress.fraction() == pytest.approx(0.9 * (1 - LINK_SHARE))


def test_what_is_no_part_of_the_build_does_not_count(progress: BuildProgress) -> None:
    progress.finish("elsewhere")
    assert progress.fraction() == 0


def test_a_package_named_twice_counts_once(progress: BuildProgress) -> None:
    progress.finish("large")
    progress.finish("large")
    assert progress.fraction() == pytest.approx(0.9 * (1 - LINK_SHARE))


def test_compiled_is_not_done_while_the_link_is_owed(progress: BuildProgress) -> None:
    progress.finish("small")
    progress.finish("large")
    assert progress.fraction() == pytest.approx(1 - LINK_SHARE)


def test_the_time_left_follows_the_pace(progress: BuildProgress) -> None:
    progress.finish("large")
    done = 0.9 * (1 - LINK_SHARE)
    assert progress.seconds_left(now=81) == pytest.approx(81 / done * (1 - done))


def test_a_resumed_build_counts_what_is_there_but_not_into_its_pace() -> None:
    progress = BuildProgress({"a": 50, "b": 25, "c": 25}, 0.0, already_done=frozenset({"a"}))
    assert progress.fraction() == pytest.approx(0.5 * (1 - LINK_SHARE))
    assert progress.seconds_left(now=10) is None
    progress.finish("b")
    gained = 0.25 * (1 - LINK_SHARE)
    assert progress.seconds_left(now=10) == pytest.approx(10 / gained * (1 - progress.fraction()))


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (42, "42 s"), (89, "89 s"), (90, "2 min"), (400, "7 min")]
)
def test_a_duration_is_as_coarse_as_it_is_known(seconds: float, text: str) -> None:
    assert duration(seconds) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("rehearsal.toolchain.progress.time.monotonic", lambda: now[0])
    return now


def test_a_log_gets_at_most_one_line_in_five_seconds(clock: list[float]) -> None:
    stream = io.StringIO()
    lines = Lines("tools", stream)
    for second in range(11):
        clock[0] = 100.0 + second
        lines.show(f"{second}%")
    assert stream.getvalue() == "tools: 0%\ntools: 5%\ntools: 10%\n"


def test_a_log_keeps_every_line_that_stays(clock: list[float]) -> None:
    stream = io.StringIO()
    lines = Lines("tools", stream)
    lines.say("started")
    lines.say("ready")
    assert stream.getvalue() == "tools: started\ntools: ready\n"


def test_a_terminal_shows_one_line_that_changes(clock: list[float]) -> None:
    stream = Terminal()
    lines = Lines("tools", stream)
    lines.show("1%")
    clock[0] += 1
    lines.show("2%")
    lines.say("ready")
    assert "\n" not in stream.getvalue()[:-1]
    assert stream.getvalue().endswith("\r\x1b[Ktools: ready\n")
