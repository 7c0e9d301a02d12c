"""Every shape of the canary's catalogue through the readers of each wire format, split at many places; and the guard's rules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from chatui.backends.chat.deltas import Deltas
from chatui.operations.canary.scripts import Shape, all_shapes, sample
from renderer.events import RawEvent
from renderer.gate import Audience, Gate, VisibleDelta
from tests.chatui.backends.honest_labels import HEADINGS, LABELS
from tests.chatui.backends.test_leak_shapes import Cut, cuts, events_of_chat, events_of_responses, guarded, visible_text
from tests.support.cases import EVERY_SHAPE, example_count, for_each, is_drawn

SHAPES = all_shapes()
HIDDEN, SHOWN = "ghjkmnpqrtvw00004", "zyxwvtrqpnmk00007"


def filled(shape: Shape) -> str:
    return shape.filled(f"{HIDDEN} bcdflbcdfl is what nobody may read.", f"Answer {SHOWN}.")


def text_ever_visible(events: list[RawEvent]) -> str:
    """Everything that a user could have read at some time."""
    gate = Gate(Audience.END_USER)
    return "".join(event.text for raw in events if isinstance(event := gate.admit(raw), VisibleDelta))


def event_sequences(text: str) -> Iterator[tuple[Cut, list[RawEvent]]]:
    """The events of an answer over the wire formats that have a field for it: whole, and split in many ways."""
    for pieces in cuts(text):
        yield pieces, events_of_chat({}, pieces, whole=False)
        yield pieces, events_of_responses(text, pieces, {}, whole=False)
    yield [text], events_of_chat({}, [text], whole=True)
    yield [text], events_of_responses(text, [text], {}, whole=True)


def test_the_catalogue_is_large_and_its_shapes_are_distinct() -> None:
    assert len(SHAPES) > 550 and len({shape.name for shape in SHAPES}) == len(SHAPES)
    assert all("{hidden}" in shape.text and shape.name.isprintable() and len(shape.name) < 60 for shape in SHAPES)
    assert sum(shape.shows for shape in SHAPES) > len(SHAPES) / 2, "a guard that hides everything would be useless"


@for_each([shape for shape in SHAPES if EVERY_SHAPE or is_drawn(2, shape.name)])
def test_every_shape_is_hidden_at_every_moment(shape: Shape) -> None:
    text = filled(shape)
    for pieces, events in event_sequences(text):
        visible = visible_text(events)
        assert HIDDEN not in visible, pieces
        assert HIDDEN not in text_ever_visible(events), pieces
        assert not shape.shows or SHOWN in visible, pieces


@for_each(sample(SHAPES, example_count(250), random.Random(9)))
def test_nothing_is_shown_of_a_shape_that_was_cut(shape: Shape) -> None:
    text = filled(shape)
    first = text.index(HIDDEN)
    for length in range(first, len(text), 7):
        for events in (
            events_of_chat({}, [text[:length]], whole=False, ends=False),
            events_of_responses(text[:length], [text[:length]], {}, whole=False, ends=False),
        ):
            assert text_ever_visible(events) == ""


def test_a_sample_is_ordered_and_depends_on_its_seed() -> None:
    some, others = (sample(SHAPES, 30, random.Random(seed)) for seed in (1, 2))
    assert len(some) == 30 and some != others
    assert some == sorted(some, key=SHAPES.index) == sample(SHAPES, 30, random.Random(1))
    assert sample(SHAPES, None, random.Random(1)) == SHAPES


# Plain-text labels


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Here is my thought process: SECRET Here is my response: Forty two.", " Forty two."),
        ("Analysis: SECRET\n\nFinal: Forty two.", " Forty two."),
        ("**Thinking**\n\nSECRET\n\n**Answer:** Forty two.", " Forty two."),
        ("Thought: SECRET\nFinal Answer: Forty two.", " Forty two."),
        ("```thinking\nSECRET\n```\nForty two.", "Forty two."),
        ("> **Thinking**\n> SECRET\n\nForty two.", "\nForty two."),
        ("思考过程：SECRET\n\n最终回答：42", "42"),
        ("Thinking: SECRET\nI will write\nAnswer: and go on. SECRET\nAnswer: 42", " 42"),
    ],
)
def test_a_second_label_hides_the_part_before_it(text: str, shown: str) -> None:
    assert guarded(text) == shown


def test_headings_without_a_second_label_are_shown_whole() -> None:
    assert len(HEADINGS) >= 40
    assert [text for text in LABELS if guarded(text) != text] == []


@pytest.mark.parametrize("text", ["thought\nSECRET\n42", "```thinking\nSECRET", "think\nSECRET"])
def test_an_implausible_beginning_hides_the_whole_answer(text: str) -> None:
    assert guarded(text) == ""


def test_a_sign_in_a_suspect_answer_ends_it_and_is_judged_once() -> None:
    """Repeated judgement used to recurse without end."""
    for text in ("analysis of <|start|> SECRET<|end|>", "assistant\nanalysis\nSECRET\nassistant\nfinal\n42", "Analysis: a\n<|call|>SECRET"):
        assert "SECRET" not in guarded(text)


# The same text as reasoning and as answer


def test_text_sent_as_reasoning_and_answer_is_reasoning() -> None:
    deltas: list[dict[str, Any]] = [{"reasoning": word, "content": word} for word in ("We ", "think ", "SECRET.")]
    assert visible_text(events_of_chat({"deltas": [*deltas, {"content": "42"}]}, [], whole=False)) == "42"
    whole = {"role": "assistant", "reasoning_content": "SECRET", "content": "SECRET"}
    assert visible_text(events_of_chat({"deltas": [whole]}, [], whole=True)) == ""


def test_a_line_end_in_both_fields_is_not_a_duplicate() -> None:
    reader = Deltas(lambda: "c", max_chars=100)
    events = reader.feed({"choices": [{"delta": {"reasoning": "\n", "content": "\n"}}]})
    events += [*reader.feed({"choices": [{"delta": {"content": "42"}}]}), *reader.finish()[0]]
    assert visible_text(events) == "\n42"
