"""Bars of long work: on a terminal, in a notebook, in a file, and where nobody watches."""

import io
import re
import sys
import time
import types

import pytest

from cade_tf import progress as progress_module
from cade_tf.progress import Progress, make_bar


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


@pytest.fixture(autouse=True)
def capable_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def lines_on(terminal):
    """The states of the bar's line, one after the other, without colours."""
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    return [line.rstrip() for line in re.split(r"[\r\n]+", text) if line.strip()]


def test_numbers_show_what_is_done_speed_and_time_left(clock):
    progress = Progress("embedding", total=4000, unit="nodes", stream=io.StringIO())
    clock.now += 10
    progress.advance(1000, note="loss 1.25")
    assert progress.numbers() == "1,000/4,000 nodes  100.0 nodes/s  0:30 left  loss 1.25"


def test_hours_are_shown_where_there_are_any(clock):
    progress = Progress("walks", total=7300, stream=io.StringIO())
    clock.now += 1
    progress.advance(1)
    assert "2:01:39 left" in progress.numbers()


def test_without_a_total_no_end_is_promised(clock):
    progress = Progress("reading", unit="lines", stream=io.StringIO())
    clock.now += 2
    progress.advance(10)
    assert progress.numbers() == "10 lines  5.0 lines/s"


def test_work_done_earlier_does_not_flatter_the_speed(clock):
    progress = Progress("training", total=100, unit="steps", stream=io.StringIO())
    clock.now += 5
    progress.start_at(50)
    clock.now += 10
    progress.advance(10)
    assert "60/100 steps  1.0 steps/s  0:40 left" in progress.numbers()


def test_a_file_gets_a_line_now_and_then_and_none_for_short_work(clock):
    stream = io.StringIO()
    with Progress("training", total=100, plain_seconds=30, stream=stream) as progress:
        for _ in range(100):
            clock.now += 1
            progress.advance()
    lines = stream.getvalue().splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["training", "30%", "30/100"],
        ["training", "60%", "60/100"],
        ["training", "90%", "90/100"],
    ]
    short = io.StringIO()
    with Progress("training", total=3, stream=short) as progress:
        progress.advance(3)
    assert short.getvalue() == ""


def test_a_dumb_terminal_gets_plain_lines(clock, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with Progress("training", total=2, plain_seconds=1, stream=stream) as progress:
        clock.now += 1
        progress.advance()
    assert stream.getvalue().startswith("training   50%  1/2 it")


def test_a_terminal_gets_one_line_redrawn_in_place(clock):
    stream = Terminal()
    with Progress("training", total=4, unit="steps", stream=stream) as progress:
        clock.now += 4
        progress.advance(4, note="loss 0.5")
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert "0/4 steps" in lines_on(stream)[0]
    assert lines_on(stream)[-1].startswith("training")
    assert lines_on(stream)[-1].endswith("4/4 steps  1.0 steps/s  in 0:04  loss 0.5")


def test_the_bar_of_a_terminal_moves_while_work_goes_on():
    stream = Terminal()
    with Progress("training", total=10, unit="steps", stream=stream) as progress:
        for _ in range(10):
            progress.advance()
            time.sleep(0.1)
    shown = {re.search(r"(\d+)/10 steps", line)[1] for line in lines_on(stream)}
    assert len(shown) >= 3


def test_short_work_leaves_nothing_on_a_terminal(clock):
    stream = Terminal()
    with Progress("reading", total=4, stream=stream) as progress:
        progress.advance(4)
    after = stream.getvalue().split("4/4 it")[-1]
    assert "\x1b[1A\x1b[2K" in after  # one line up, and that line erased


def test_a_line_is_cut_to_the_terminal_so_that_it_cannot_wrap(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    with Progress("training", total=4, stream=stream) as progress:
        clock.now += 1
        progress.advance(1, note="a note that is much too long for it")
    assert max(map(len, lines_on(stream))) <= 40


def test_lines_of_others_appear_above_the_bar(clock, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("training", total=4) as progress:
        clock.now += 1
        print("a message", file=sys.stderr)
        progress.advance(4)
    assert "a message" in lines_on(stream)
    assert "4/4" in lines_on(stream)[-1]


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_quiet_work_shows_nothing(clock, stream):
    with Progress("training", total=4, stream=stream, quiet=True) as progress:
        clock.now += 100
        progress.advance(4)
    assert progress.done == 4
    assert stream.getvalue() == ""


def test_a_process_without_a_console_shows_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with Progress("training", total=4) as progress:
        progress.advance(4)
    assert progress.done == 4


def test_an_error_inside_ends_the_line_and_passes(clock):
    stream = Terminal()
    progress = Progress("training", total=4, stream=stream)
    clock.now += 1
    with pytest.raises(KeyError), progress:
        raise KeyError
    assert "\x1b[?25h" in stream.getvalue()  # the cursor is back


@pytest.fixture
def cell(monkeypatch):
    """The output of a notebook's cell: the states of everything displayed."""
    shown = []

    class Handle:
        def update(self, bundle, raw):
            shown.append(bundle["text/plain"])

    def display(bundle, raw, display_id):
        assert raw
        assert display_id
        shown.append(bundle["text/plain"])
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    return shown


def test_a_notebook_shows_a_bar_before_the_first_unit_is_done_and_moves_it(cell):
    with Progress("training", total=3, unit="steps") as progress:
        time.sleep(1.0)
        assert cell == [cell[0]]
        assert cell[0].startswith("training  0/3 steps")
        for _ in range(3):
            progress.advance()
            time.sleep(0.25)
    assert len(cell) >= 3
    assert cell[-1].startswith("training  3/3 steps")


def test_a_notebook_shows_nothing_of_short_work(cell):
    with Progress("reading", total=3) as progress:
        progress.advance(3)
    assert cell == []


def test_a_caller_may_bring_a_bar_of_its_own():
    made = []

    def bar(title, total, unit):
        made.append((title, total, unit))
        return Progress(title, total, unit, quiet=True)

    with make_bar(bar, "embedding", 3, "nodes") as shown:
        shown.advance(3)
    assert made == [("embedding", 3, "nodes")]


@pytest.mark.parametrize(("shown", "lines"), [(True, 1), (False, 0)])
def test_a_bar_is_shown_or_not(clock, monkeypatch, shown, lines):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with make_bar(shown, "embedding", 3, "nodes") as bar:
        clock.now += 31
        bar.advance(3)
    assert len(stream.getvalue().splitlines()) == lines
