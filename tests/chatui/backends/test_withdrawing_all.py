"""A sign of raw output hides everything that a completion wrote before it, even if other events came in between."""

from __future__ import annotations

from itertools import count, product
from typing import Any

import pytest

from chatui.backends.chat.deltas import Deltas
from chatui.backends.responses.reducer import Reducer
from chatui.backends.separation import Separation
from chatui.codes import ProductCode
from renderer.events import Assembler, Finished, RawEvent
from renderer.frame_kinds import ANSWER, PREAMBLE
from renderer.gate import Audience, may_see
from tests.support.cases import for_each

Event = dict[str, Any]

BETWEEN: dict[str, list[Event]] = {
    "nothing": [],
    "reasoning": [{"reasoning_content": "x"}],
    "reasoning by another name": [{"thinking": "x"}, {"reasoning": "y"}],
    "a part that is reasoning": [{"content": [{"type": "reasoning", "text": "x"}]}],
    "a part that nobody knows": [{"content": [{"type": "new", "text": "x"}]}],
    "a trusted summary": [{"reasoning_details": [{"type": "reasoning.summary", "text": "x"}]}],
    "another role": [{"role": "tool", "content": "x"}, {"role": "assistant"}],
    "a channel": [{"channel": "analysis", "content": "x"}, {"channel": "final"}],
    "a call": [{"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}],
}
SIGNS = {
    "a closing tag": "SECRET two </think>Answer.",
    "stripped markers": "SECRET two.assistantfinalAnswer.",
    "stripped markers at once": "assistantfinalAnswer.",
    "markers": "SECRET two<|end|><|start|>assistant<|channel|>final<|message|>Answer.",
    "markers at once": "<|end|><|start|>assistant<|channel|>final<|message|>Answer.",
}
PROVED: dict[str, Any] = {"separation": Separation.STRUCTURED}
FIRST = "SECRET one of the thoughts. "


def frames(events: list[RawEvent]) -> list[Finished]:
    assembler = Assembler()
    finished = [done for event in events if (done := assembler.feed(event))]
    assert assembler.finish() is None
    return finished


def bodies(finished: list[Finished]) -> list[str]:
    return [done.frame.body for done in finished if may_see(done.frame.header, Audience.END_USER)]


def chat(deltas: list[Event], *, breaks: bool = False, **options: Any) -> list[Finished]:
    reader = Deltas(lambda: "c1", max_chars=10_000, summaries_are_trusted=True, **options)
    events = [event for delta in deltas for event in reader.feed({"choices": [{"index": 0, "delta": delta}]})]
    return frames([*events, *(reader.break_off() if breaks else reader.finish()[0])])


@for_each(product(BETWEEN, SIGNS, (True, False)))
def test_chat_completions_hide_text_before_other_events(between: str, sign: str, breaks: bool) -> None:
    if between == "nothing" and sign.endswith("at once"):
        sign = sign.removesuffix(" at once")
    finished = chat([{"content": FIRST}, *BETWEEN[between], {"content": SIGNS[sign]}], breaks=breaks)
    assert "SECRET" not in "".join(bodies(finished))
    assert ProductCode.WITHHELD in {done.error for done in finished} or between == "a call" or breaks
    assert "SECRET" in "".join(done.frame.body for done in finished), "it is stored for staff"


def test_reasoning_in_the_same_chunk_does_not_protect_earlier_text() -> None:
    finished = chat([{"content": FIRST}, {"reasoning_content": "x", "content": "</think>Answer."}])
    assert bodies(finished) == ["Answer."]


def test_a_harmless_answer_interrupted_by_reasoning_is_one_answer_in_paragraphs() -> None:
    finished = chat(
        [{"content": "Let me look."}, {"reasoning_content": "hm"}, {"reasoning_content": "m"}, {"content": "It is 4."}],
        **PROVED,
    )
    assert [(done.frame.header.channel, done.frame.body) for done in finished] == [
        ("final", "Let me look.\n\nIt is 4."),
        ("analysis", "hmm"),
    ]
    assert all(done.error is None for done in finished)


# Responses


def item(kind: str, number: int, text: str, *, streams: bool, **labels: Any) -> list[Event]:
    named = {"type": kind, "id": f"{kind}{number}", **labels}
    lane = "output_text" if kind == "message" else "reasoning_text"
    at = {"output_index": number, "item_id": named["id"], "content_index": 0}
    deltas = [{"type": f"response.{lane}.delta", **at, "delta": text}] if streams else []
    whole = {**named, "status": "completed", "content": [{"type": lane, "text": text}]}
    return [
        {"type": "response.output_item.added", "output_index": number, "item": {**named, "content": []}},
        *deltas,
        {"type": "response.output_item.done", "output_index": number, "item": whole},
    ]


def message_events(number: int, text: str, *, streams: bool = True, **labels: Any) -> list[Event]:
    return item("message", number, text, streams=streams, role="assistant", **labels)


ITEMS_BETWEEN: dict[str, list[Event]] = {
    "nothing": [],
    "reasoning": item("reasoning", 1, "x", streams=True),
    "reasoning that comes whole": item("reasoning", 1, "x", streams=False),
    "a tool of the server's own": [
        {"type": "response.output_item.done", "output_index": 1, "item": {"type": "web_search_call", "id": "w"}},
    ],
    "a message for somebody else": item("message", 1, "x", streams=True, role="tool"),
    "another message": message_events(1, "SECRET too."),
    "a preamble": message_events(1, "SECRET too.", phase="commentary"),
    "an empty message": message_events(1, ""),
}


def responses(events: list[Event], *, breaks: bool = False, **options: Any) -> list[Finished]:
    numbers = count()
    reducer = Reducer(lambda: f"c{next(numbers)}", max_chars=10_000, **options)
    raws = [raw for event in events for raw in reducer.feed(event["type"], event)]
    if breaks:
        return frames([*raws, *reducer.break_off()])
    raws += reducer.feed("response.completed", {"response": {"status": "completed"}})
    return frames([*raws, *reducer.finish()[0]])


@for_each(product(ITEMS_BETWEEN, SIGNS, (True, False), (True, False)))
def test_responses_hide_earlier_messages_too(between: str, sign: str, streams: bool, breaks: bool) -> None:
    finished = responses(
        [*message_events(0, FIRST), *ITEMS_BETWEEN[between], *message_events(2, SIGNS[sign], streams=streams)], breaks=breaks
    )
    assert "SECRET" not in "".join(bodies(finished))
    assert ProductCode.WITHHELD in {done.error for done in finished} or breaks
    assert "SECRET" in "".join(done.frame.body for done in finished), "it is stored for staff"


@pytest.mark.parametrize("streams", [True, False])
def test_harmless_messages_are_one_answer_followed_by_what_came_between(streams: bool) -> None:
    finished = responses(
        [*message_events(0, "One."), *ITEMS_BETWEEN["reasoning"], *message_events(2, "Analysis of it: two.", streams=streams)],
        **PROVED,
    )
    assert [(done.frame.header.channel, done.frame.body, done.error) for done in finished] == [
        ("final", "One.\n\nAnalysis of it: two.", None),
        ("analysis", "x", None),
    ]


def test_an_answer_is_complete_even_if_later_output_is_cut() -> None:
    finished = responses([*message_events(0, "One."), *item("reasoning", 1, "x", streams=True)[:2]], breaks=True, **PROVED)
    assert [(done.frame.body, done.complete) for done in finished] == [("One.", True), ("x", False)]


def test_a_preamble_before_the_answer_stays_a_separate_frame() -> None:
    finished = responses(
        [*message_events(0, "I look.", phase="commentary"), *ITEMS_BETWEEN["reasoning"], *message_events(2, "Found.", phase="final_answer")]
    )
    seen = [(done.frame.header, done.frame.body) for done in finished if may_see(done.frame.header, Audience.END_USER)]
    assert seen == [(PREAMBLE, "I look."), (ANSWER, "Found.")]
