"""Long renderings run off the event loop: no step is long, later events wait in order, and a withdrawal does not wait."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from uuid import uuid4

import pytest

from chatui import wire
from chatui.display import activities
from chatui.turns.streams.end_user import EndUserStream
from chatui.turns.streams.rendering import Rendering
from renderer.activities.activity import Activity
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frames import Terminator
from renderer.markup.html import render_blocks
from tests.support.cases import EVERY_SHAPE, drawn, is_drawn
from tests.support.cost import Longest
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE

MAX_UNITS = 50
"""The longest step, in milliseconds."""

UNITS = {
    "list": "- a\n",
    "numbers": "1. a\n",
    "empty items": "- \n",
    "nested list": "".join("  " * depth + "- a\n" for depth in range(12)),
    "links in a list": "- [a](http://b.example/)\n",
    "footnotes": "[^1]: a\n\n",
    "dollars": "$$",
    "lines of dollars": "$$\n",
    "formulas": "\\[\n",
    "paragraphs": "a\n\n",
    "one paragraph": "a\n",
    "headings": "# a\n",
    "rules": "---\n",
    "quote": "> a\n",
    "quotes": "> ",
    "emphasis": "*a ",
    "strong": "**a** ",
    "line breaks": "a\\\nb  \n",
    "definitions": "[x]: /u\n",
    "references": "[x] ",
    "indented code": "    a\n",
    "fences": "```\na\n```\n",
    "cjk": "字**「強」**で",
    "words": "words ",
    "blank lines": "\n",
}


def repeated(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def wide_table(size: int) -> str:
    return repeated("| a " * 500 + "|\n", 2002) + "|-" * 500 + "|\n" + repeated("| a " * 500 + "|\n", size - 3003)


def late_definition(size: int) -> str:
    return repeated("see [x] now\n\n", size) + "\n\n[x]: /u\n\nend"


SHAPES: dict[str, Callable[[int], str]] = {
    **{name: partial(repeated, unit) for name, unit in UNITS.items()},
    "open fence": lambda size: "```\n" + repeated("a\n", size),
    "many definitions": lambda size: "".join(f"[x{number}]: /u\n\n" for number in range(size // 12)),
    "late definition": late_definition,
    "wide table": wide_table,
}


class Loop:
    """Feeds a stream as an event loop does: offloaded renderings run outside the steps, whose time is measured if requested."""

    def __init__(self, *, is_measured: bool = False) -> None:
        self.stream, self.key = EndUserStream(uuid4()), uuid4()
        self.longest = Longest() if is_measured else None
        self.handed_out = 0
        self.sent: list[wire.Event] = []
        self._compactor = wire.Compactor()

    def step(self, work: Callable[[], object]) -> None:
        def whole() -> None:
            work()
            flushed = self.stream.flush()
            self._compactor.encode(flushed)
            self.sent += [numbered.event for numbered in flushed]

        if self.longest is not None:
            self.longest.run(whole)
        else:
            whole()

    def write(self, text: str, piece: int) -> None:
        events: list[RawEvent] = [FrameText(text[at : at + piece]) for at in range(0, len(text), piece)]
        for event in [FrameOpened(FINAL), *events, FrameClosed(Terminator.END)]:
            self.step(partial(self.stream.take, event, self.key, 0))
            while (rendering := self.stream.take_rendering()) is not None:
                self.handed_out += 1
                rendering.run()
                self.step(partial(self.stream.rendered, rendering))


SIZES = ((100_000, 2_000), (300_000, 400_000))
"""The shape of the text, and the sizes of the pieces in which it arrives."""
# make attack tries each shape both ways; otherwise a hash chooses one.
MEASURED = [(shape, *SIZES[size]) for shape in SHAPES for size in range(2) if EVERY_SHAPE or is_drawn(2, shape) == bool(size)]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "size", "piece"), drawn(2, MEASURED))
def test_no_step_is_long_for_any_text(shape: str, size: int, piece: int) -> None:
    worst = []
    for _ in range(3):
        loop = Loop(is_measured=True)
        assert loop.longest is not None
        loop.write(SHAPES[shape](size), piece)
        worst.append(loop.longest.units)
        if worst[-1] <= MAX_UNITS:
            break
    assert min(worst) <= MAX_UNITS
    assert not loop.stream.is_behind


PIECES = (700, 100_000)
# As above: each shape both ways, or the one that a hash chooses.
WRITTEN = [(shape, PIECES[size]) for shape in SHAPES for size in range(2) if EVERY_SHAPE or is_drawn(2, "piece", shape) == bool(size)]


@pytest.mark.parametrize(("shape", "piece"), drawn(2, WRITTEN))
def test_an_offloaded_rendering_ends_like_the_whole_text(shape: str, piece: int) -> None:
    text = SHAPES[shape](3_000)  # most are offloaded two to six times
    loop = Loop()
    loop.write(text, piece)
    final = {event.block: event.html for event in loop.sent if isinstance(event, wire.BlockFlushed)}
    whole = render_blocks(text)
    assert tuple(html for _, html in sorted(final.items()) if html.html) == whole
    [message] = loop.stream.snapshot(0).messages
    assert message.blocks == whole


def test_an_ordinary_answer_is_never_offloaded() -> None:
    loop = Loop()
    loop.write("# Title\n\nSome words of *a paragraph*, and more.\n\n- one\n- two\n\n```py\nx = 1\n```\n\n" * 40, 40)
    assert loop.handed_out == 0


LONG = "- SECRET *item* of a list\n" * 600
LINES = [activities.line(Activity(doing)) for doing in ("calc", "weigh")]


def types(stream: EndUserStream) -> list[str]:
    return [str(numbered.as_json()["type"]) for numbered in stream.flush()]


def handed_out(stream: EndUserStream) -> Rendering:
    rendering = stream.take_rendering()
    assert rendering is not None
    assert stream.take_rendering() is None, "once"
    return rendering


def finish(stream: EndUserStream) -> list[str]:
    """Render everything that is left. Returns what is sent meanwhile."""
    sent = []
    while (rendering := stream.take_rendering()) is not None:
        rendering.run()
        stream.rendered(rendering)
        sent += types(stream)
    return sent


@pytest.mark.parametrize("is_run", [True, False])
def test_a_message_withdrawn_while_rendering_is_never_sent(is_run: bool) -> None:
    stream, key = EndUserStream(uuid4()), uuid4()
    stream.take(FrameOpened(FINAL), key, 0)
    stream.take(FrameText(LONG), key, 0)
    assert types(stream) == ["chatui:message"]
    rendering = handed_out(stream)
    if is_run:
        rendering.run()
    for event in (FrameWithdrawn(), FrameText("SECRET"), FrameClosed(Terminator.END)):
        stream.take(event, key, 0)
    assert types(stream) == ["chatui:withdrawn"]
    stream.rendered(rendering)
    sent = [numbered.as_json() for numbered in stream.flush()]
    assert sent == []
    assert "SECRET" not in json.dumps(stream.snapshot(0).as_json())
    assert not stream.is_behind


def test_summary_lines_that_came_during_a_withdrawn_message_stay() -> None:
    stream, key = EndUserStream(uuid4()), uuid4()
    stream.take(FrameOpened(ANALYSIS), uuid4(), 0)
    stream.take(FrameClosed(Terminator.END), uuid4(), 0)
    stream.take(FrameOpened(PREAMBLE), key, 0)
    stream.take(FrameText("I look"), key, 0)
    for line in LINES:
        stream.step(line)
    stream.take(FrameWithdrawn(), key, 0)
    sent = [numbered.event for numbered in stream.flush()]
    assert [event.line for event in sent if isinstance(event, wire.SummaryStep)] == LINES
    assert not stream.snapshot(0).messages


def test_withdrawing_a_later_message_leaves_the_earlier_one_whole() -> None:
    stream, first, second = EndUserStream(uuid4()), uuid4(), uuid4()
    long = LONG.replace("SECRET", "public")
    for event in (FrameOpened(PREAMBLE), FrameText(long), FrameClosed(Terminator.END)):
        stream.take(event, first, 0)
    assert types(stream) == ["chatui:message"]
    for withdrawn in (FrameOpened(FINAL), FrameText(LONG), FrameWithdrawn()):
        stream.take(withdrawn, second, 0)
    assert types(stream) == ["chatui:withdrawn"]
    sent = finish(stream)
    assert "response.delta.flush" in sent
    assert "chatui:message" not in sent
    [message] = stream.snapshot(0).messages
    assert (message.message_id, message.blocks) == (str(first), render_blocks(long))


def test_events_during_a_rendering_wait_in_order_and_turn_events_go_on() -> None:
    stream, first, second = EndUserStream(uuid4()), uuid4(), uuid4()
    stream.take(FrameOpened(PREAMBLE), first, 0)
    stream.take(FrameText(LONG), first, 0)
    types(stream)
    rendering = handed_out(stream)
    for event in (FrameClosed(Terminator.END), FrameOpened(FINAL), FrameText("Four."), FrameClosed(Terminator.END)):
        stream.take(event, first if event == FrameClosed(Terminator.END) else second, 0)
    stream.add_event(wire.Saving())
    assert types(stream) == ["chatui:saving"]
    snapshot = stream.snapshot(0)
    assert [(message.message_id, message.blocks) for message in snapshot.messages] == [(str(first), ())], "what was sent of it"
    rendering.run()
    stream.rendered(rendering)
    sent = types(stream) + finish(stream)
    assert sent.count("chatui:message") == 1
    assert sent[-2:] == ["chatui:message", "response.delta.flush"]
    assert [message.blocks for message in stream.snapshot(0).messages] == [render_blocks(LONG), render_blocks("Four.")]


def test_a_failed_rendering_leaves_the_message_unchanged() -> None:
    stream, key = EndUserStream(uuid4()), uuid4()
    for event in (FrameOpened(FINAL), FrameText(LONG)):
        stream.take(event, key, 0)
    types(stream)
    stream.rendered(handed_out(stream))  # never run
    finish(stream)
    for later in (FrameClosed(Terminator.END), FrameOpened(FINAL), FrameText("Four."), FrameClosed(Terminator.END)):
        stream.take(later, key, 0)
    types(stream)
    finish(stream)
    assert stream.snapshot(0).messages[-1].blocks == render_blocks("Four.")
