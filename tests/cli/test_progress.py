import io
import os

import pytest

from cade_tf.cli import progress as progress_module
from cade_tf.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """Time that passes only when told to."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress_module, "time", clock)
    return clock


def test_the_line_shows_share_speed_and_time_left(clock):
    progress = Progress("embedding", total=4000, unit="nodes", stream=io.StringIO())
    clock.now += 10
    progress.advance(1000, note="loss 1.25")
    assert progress.line() == (
        "embedding  █████░░░░░░░░░░░░░░░  1,000/4,000 nodes  100.0 nodes/s  0:30 left  loss 1.25"
    )


def test_hours_are_shown_where_there_are_any(clock):
    progress = Progress("walks", total=7300, stream=io.StringIO())
    clock.now += 1
    progress.advance(1)
    assert "2:01:39 left" in progress.line()


def test_without_a_total_no_end_is_promised(clock):
    progress = Progress("reading", unit="lines", stream=io.StringIO())
    clock.now += 2
    progress.advance(10)
    assert progress.line() == "reading  10 lines  5.0 lines/s"


def test_work_done_earlier_does_not_flatter_the_speed(clock):
    progress = Progress("training", total=100, unit="steps", stream=io.StringIO())
    clock.now += 5
    progress.start_at(50)
    clock.now += 10
    progress.advance(10)
    assert "60/100 steps  1.0 steps/s  0:40 left" in progress.line()


def test_a_file_gets_a_line_now_and_then_and_none_for_short_work(clock):
    stream = io.StringIO()
    with Progress("training", total=100, plain_seconds=30, stream=stream) as progress:
        for _ in range(100):
            clock.now += 1
            progress.advance()
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == [
        "30/100",
        "60/100",
        "90/100",
    ]
    short = io.StringIO()
    with Progress("training", total=3, stream=short) as progress:
        progress.advance(3)
    assert short.getvalue() == ""


def test_a_terminal_gets_one_line_redrawn_in_place(clock):
    stream = Terminal()
    with Progress("training", total=4, stream=stream) as progress:
        for _ in range(4):
            clock.now += 0.2
            progress.advance()
        clock.now += 0.01
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert text.count("\r\x1b[K") == 5
    assert "4/4" in text.split("\r\x1b[K")[-1]


def test_a_terminal_is_not_flooded(clock):
    stream = Terminal()
    progress = Progress("training", stream=stream)
    for _ in range(1000):
        clock.now += 0.001
        progress.advance()
    assert stream.getvalue().count("\r") <= 10


def test_a_line_is_cut_to_the_terminal_so_that_it_cannot_wrap(clock, monkeypatch):
    monkeypatch.setattr(
        progress_module.shutil, "get_terminal_size", lambda: os.terminal_size((20, 24))
    )
    stream = Terminal()
    with Progress("a title that is much too long", total=4, stream=stream):
        clock.now += 1
    assert stream.getvalue() == "\r\x1b[Ka title that is muc\n"


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_quiet_work_shows_nothing(clock, stream):
    with Progress("training", total=4, stream=stream, quiet=True) as progress:
        clock.now += 100
        progress.advance(4)
    assert progress.done == 4
    assert stream.getvalue() == ""


def test_an_error_inside_ends_the_line_and_passes(clock):
    stream = Terminal()
    with pytest.raises(KeyError), Progress("training", total=4, stream=stream):
        raise KeyError
    assert stream.getvalue().endswith("\n")
