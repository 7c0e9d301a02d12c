"""Long texts are rendered in steps: none is long, later events wait in order, and a withdrawal does not wait."""

import json
from collections.abc import Callable
from functools import partial
from uuid import uuid4

import pytest

from chatui import wire
from chatui.display import activities
from renderer.activities.activity import Activity
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frames import Terminator
from renderer.markup.html import render_blocks
from tests.support.cases import EVERY_SHAPE, drawn, is_drawn
from tests.support.cost import Longest
from tests.support.page_stream import PageStream
from tests.support.scripted import ANALYSIS, FINAL, PREAMBLE

MAX_UNITS = 2_000
"""The longest step, in milliseconds, for 50,000 characters and more of one block. Quadratic work would take minutes."""

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
    """Feeds a stream as an event loop does. The time of its steps is measured if requested."""

    def __init__(self, *, is_measured: bool = False) -> None:
        self.stream, self.key = PageStream(), uuid4()
        self.longest = Longest() if is_measured else None
        self.sent: list[wire.Event] = []

    def step(self, event: RawEvent | None = None) -> None:
        def whole() -> None:
            if event is not None:
                self.stream.take(event, self.key, 0)
            flushed = self.stream.flush()
            wire.encode(flushed)
            self.sent += [numbered.event for numbered in flushed]

        if self.longest is not None:
            self.longest.run(whole)
        else:
            whole()

    def write(self, text: str, piece: int) -> None:
        events: list[RawEvent] = [FrameText(text[at : at + piece]) for at in range(0, len(text), piece)]
        for event in [FrameOpened(FINAL), *events, FrameClosed(Terminator.END)]:
            self.step(event)
        while self.stream.has_unshown:
            self.step()


SIZES = ((50_000, 2_000), (100_000, 130_000))
"""The shape of the text, and the sizes of the pieces in which it arrives."""
# make attack tries each shape both ways; otherwise a hash chooses one.
MEASURED = [(shape, *SIZES[size]) for shape in SHAPES for size in range(2) if EVERY_SHAPE or is_drawn(2, shape) == bool(size)]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "size", "piece"), drawn(2, MEASURED))
def test_no_text_holds_other_turns_up_for_long(shape: str, size: int, piece: int) -> None:
    worst = []
    for _ in range(3):
        loop = Loop(is_measured=True)
        assert loop.longest is not None
        loop.write(SHAPES[shape](size), piece)
        worst.append(loop.longest.units)
        if worst[-1] <= MAX_UNITS:
            break
    assert min(worst) <= MAX_UNITS


PIECES = (700, 100_000)
# As above: each shape both ways, or the one that a hash chooses.
WRITTEN = [(shape, PIECES[size]) for shape in SHAPES for size in range(2) if EVERY_SHAPE or is_drawn(2, "piece", shape) == bool(size)]


@pytest.mark.parametrize(("shape", "piece"), drawn(2, WRITTEN))
def test_what_is_rendered_in_steps_ends_like_the_whole_text(shape: str, piece: int) -> None:
    text = SHAPES[shape](3_000)
    loop = Loop()
    loop.write(text, piece)
    final = {event.block: event.html for event in loop.sent if isinstance(event, wire.BlockFlushed)}
    whole = render_blocks(text)
    assert tuple(html for _, html in sorted(final.items()) if html.html) == whole
    [message] = loop.stream.snapshot(0).messages
    assert message.blocks == whole


LONG = "- SECRET *item* of a list\n" * 600
LINES = [activities.line(Activity(doing)) for doing in ("calc", "weigh")]


def types(stream: PageStream) -> list[str]:
    return [str(numbered.as_json()["type"]) for numbered in stream.flush()]


def finish(stream: PageStream) -> list[str]:
    """Render everything that is left. Returns what is sent meanwhile."""
    sent = []
    while stream.has_unshown:
        sent += types(stream)
    return sent


def test_a_message_withdrawn_while_its_text_waits_is_not_sent_on() -> None:
    stream, key = PageStream(), uuid4()
    for event in (FrameOpened(FINAL), FrameText(LONG), FrameWithdrawn(), FrameText("SECRET"), FrameClosed(Terminator.END)):
        stream.take(event, key, 0)
        assert event != FrameText(LONG) or "chatui:message" in types(stream)
    sent = [numbered.as_json() for numbered in stream.flush()]
    assert [event["type"] for event in sent] == ["chatui:withdrawn"] and "SECRET" not in json.dumps(stream.snapshot(0).as_json())
    assert not stream.has_unshown


def test_summary_lines_that_came_during_a_withdrawn_message_stay() -> None:
    stream, key = PageStream(), uuid4()
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
    stream, first, second = PageStream(), uuid4(), uuid4()
    long = LONG.replace("SECRET", "public")
    for event in (FrameOpened(PREAMBLE), FrameText(long), FrameClosed(Terminator.END)):
        stream.take(event, first, 0)
    assert types(stream)[0] == "chatui:message" and stream.has_unshown
    for withdrawn in (FrameOpened(FINAL), FrameText(LONG), FrameWithdrawn()):
        stream.take(withdrawn, second, 0)
    sent = finish(stream)
    assert "chatui:withdrawn" in sent and "response.delta.flush" in sent
    assert "chatui:message" not in sent
    [message] = stream.snapshot(0).messages
    assert (message.message_id, message.blocks) == (str(first), render_blocks(long))


def test_later_events_wait_in_order_for_a_long_text_and_turn_events_go_on() -> None:
    stream, first, second = PageStream(), uuid4(), uuid4()
    for event in (FrameOpened(PREAMBLE), FrameText(LONG), FrameClosed(Terminator.END)):
        stream.take(event, first, 0)
    for event in (FrameOpened(FINAL), FrameText("Four."), FrameClosed(Terminator.END)):
        stream.take(event, second, 0)
    stream.add_event(wire.Delayed("chatui:saving"))
    assert types(stream)[:2] == ["chatui:saving", "chatui:message"]
    sent = finish(stream)
    assert sent[-2:] == ["chatui:message", "response.delta.flush"] and sent.count("chatui:message") == 1
    assert [message.blocks for message in stream.snapshot(0).messages] == [render_blocks(LONG), render_blocks("Four.")]
