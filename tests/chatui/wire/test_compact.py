"""The compact form of events: a page that reads it has the same state as with full events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatui import wire
from chatui.turns.streams.end_user import EndUserStream
from chatui.wire.base import Event
from renderer.events import FrameClosed, FrameOpened, FrameText, RawEvent
from renderer.frames import Terminator
from renderer.gate import VisibleText
from renderer.markup.html import SafeHtml
from tests.support.scripted import FINAL, PREAMBLE

CODE = "```python\nprint('x')\n\nmore()\n```"
MARKDOWN = f"# Title\n\nA *paragraph* of wörds 🐈 and more.\n\n- one\n- two\n\n{CODE}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end."


def flushes(text: str, size: int) -> list[list[wire.Numbered]]:
    """The events that a stream flushes for an answer in pieces of this size, after a preamble."""
    stream, key, found = EndUserStream(uuid4()), uuid4(), []
    for header, body in ((PREAMBLE, "First I look."), (FINAL, text)):
        pieces: list[RawEvent] = [FrameText(body[at : at + size]) for at in range(0, len(body), size)]
        for event in (FrameOpened(header), *pieces, FrameClosed(Terminator.END)):
            stream.take(event, key, 0)
            found.append(stream.flush())
    return found


@pytest.mark.parametrize("size", [1, 3, 17, 400])
def test_an_answer_in_short_form_is_the_same_events(size: int) -> None:
    compactor, expander = wire.Compactor(), wire.Expander()
    for flush in flushes(MARKDOWN, size):
        assert expander.read(compactor.encode(flush)) == json.loads(wire.encode(flush))


def test_text_in_small_pieces_costs_a_fraction_of_what_it_did() -> None:
    found, compactor = flushes("Some words of a long paragraph. " * 60, 12), wire.Compactor()
    assert sum(len(compactor.encode(flush)) for flush in found) * 20 < sum(len(wire.encode(flush)) for flush in found)


def test_the_blocks_of_a_message_name_it_once() -> None:
    found, compactor = flushes("\n\n".join(f"Paragraph {number} of many." for number in range(20)), 12), wire.Compactor()
    encoded = "".join(compactor.encode(flush) for flush in found)
    full = [event for event in json.loads(encoded.replace("][", ",")) if isinstance(event, dict)]
    assert sum(event["type"] == "response.delta" for event in full) == 1 and sum("block" in event for event in full) <= 3


def test_after_forgetting_the_next_event_stands_in_full_for_who_comes_late() -> None:
    found, compactor, late = flushes(MARKDOWN, 3), wire.Compactor(), wire.Expander()
    middle = len(found) // 2
    for flush in found[:middle]:
        compactor.encode(flush)
    compactor.forget()
    for flush in found[middle:]:
        assert late.read(compactor.encode(flush)) == json.loads(wire.encode(flush))


def test_who_does_not_know_the_block_gets_nothing_of_a_short_event() -> None:
    assert wire.Expander().read('[[7,4,"x"],[8,"y"],[9]]') == []


@pytest.mark.parametrize("frame", ["", "{}", "7", '["text"]', "[7]", "[null]"])
def test_what_is_no_list_of_events_is_refused(frame: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        wire.Expander().read(frame)


@given(st.lists(st.text(alphabet=st.sampled_from('ab<>/p🐈é\u2028"\\'), max_size=12), min_size=1, max_size=8), st.booleans())
def test_any_two_forms_of_a_block_are_told_by_their_difference(forms: Sequence[str], closes: bool) -> None:
    events: list[Event] = [wire.BlockReplaced("response.delta", "m", 0, SafeHtml(form)) for form in forms]
    if closes:
        events.append(wire.BlockFlushed("m", 0, SafeHtml(forms[0])))
    compactor, expander = wire.Compactor(), wire.Expander()
    numbered = [wire.Numbered("t", number, event) for number, event in enumerate(events, start=1)]
    read = [event for each in numbered for event in expander.read(compactor.encode([each]))]
    assert read == json.loads(wire.encode(numbered))


def test_text_of_a_code_block_is_short_only_after_its_block_stood_in_full() -> None:
    compactor = wire.Compactor()
    grew = wire.Numbered("t", 1, wire.BlockGrew("response.delta", "m", 0, VisibleText("x")))
    first, second = compactor.encode([grew]), compactor.encode([grew])
    assert json.loads(first)[0]["message_id"] == "m" and json.loads(second) == [[1, "x"]]


def test_events_of_another_message_or_of_a_block_that_is_not_the_next_stand_in_full() -> None:
    compactor = wire.Compactor()
    compactor.encode([wire.Numbered("t", 1, wire.BlockReplaced("response.delta", "m", 0, SafeHtml("<p>a</p>")))])
    for event in (
        wire.BlockReplaced("response.delta", "m", 2, SafeHtml("<p>a</p>")),
        wire.BlockReplaced("response.delta", "other", 3, SafeHtml("<p>a</p>")),
        wire.BlockFlushed("other", 1, SafeHtml("<p>a</p>")),
        wire.BlockReplaced("chatui:preamble.delta", "m", 1, SafeHtml("<p>a</p>")),
    ):
        assert isinstance(json.loads(compactor.encode([wire.Numbered("t", 2, event)]))[0], dict)
