"""Parsing chunks of a Chat Completions stream, without a server: which text is the answer, and how the sample ended."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from chatui.backends import speaker
from chatui.backends.base import EndReason
from chatui.backends.chat.deltas import Deltas
from renderer.events import Assembler, Finished, RawEvent
from renderer.gate import Audience, may_see

SECRET = "SECRETzzq"


def read(*choices: dict[str, Any], max_chars: int = 1000) -> tuple[list[Finished], EndReason]:
    """The frames, and the reason why the sample ended."""
    reader, assembler = Deltas(lambda: "c", max_chars=max_chars), Assembler()
    events: list[RawEvent] = [event for choice in choices for event in reader.feed({"choices": [choice]})]
    rest, reason = reader.finish()
    return [done for event in [*events, *rest] if (done := assembler.feed(event))], reason


def visible_text(frames: list[Finished]) -> str:
    return "".join(done.frame.body for done in frames if may_see(done.frame.header, Audience.END_USER))


def test_only_the_first_choice_is_read() -> None:
    frames, _ = read({"index": 1, "delta": {"content": SECRET}}, {"index": 0, "delta": {"content": "Hi"}}, {"delta": {"content": "!"}})
    assert [done.frame.body for done in frames] == ["Hi!"]


def test_only_list_parts_of_type_text_are_the_answer() -> None:
    parts = [{"type": "text", "text": "Hi"}, {"text": SECRET}, {"type": None, "text": SECRET}, {"type": "thinking", "text": SECRET}, SECRET]
    assert visible_text(read({"index": 0, "delta": {"content": parts}})[0]) == "Hi"


def test_reasoning_in_a_refusal_is_hidden_as_in_an_answer() -> None:
    frames, reason = read({"index": 0, "delta": {"refusal": f"<think>{SECRET}</think>I cannot help."}})
    assert (visible_text(frames), reason) == ("I cannot help.", EndReason.REFUSAL)


def test_a_sample_cut_by_the_limit_is_reported_as_cut_despite_calls() -> None:
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]}
    for reason, expected in (("length", EndReason.LENGTH), ("stop", EndReason.TOOL_CALLS), ("tool_calls", EndReason.TOOL_CALLS)):
        assert read({"index": 0, "delta": call, "finish_reason": reason})[1] is expected


def test_the_arguments_of_a_call_count_towards_the_limit() -> None:
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "x" * 50}}]}
    frames, reason = read({"index": 0, "delta": call}, {"index": 0, "delta": call}, max_chars=60)
    assert (sum(len(done.frame.body) for done in frames), reason) == (60, EndReason.LENGTH)


def test_a_label_after_all_text_hides_it_unless_a_call_came_with_it() -> None:
    text, label = {"delta": {"content": "I look it up."}}, {"channel": "commentary"}
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]}
    assert visible_text(read(text, {"delta": label})[0]) == ""
    assert visible_text(read(text, {"delta": label | call})[0]) == "I look it up."


def test_a_label_after_all_text_hides_it_in_a_broken_stream_too() -> None:
    reader, assembler = Deltas(lambda: "c", max_chars=1000), Assembler()
    events = [event for delta in ({"content": SECRET}, {"channel": "analysis"}) for event in reader.feed({"choices": [{"delta": delta}]})]
    frames = [done for event in [*events, *reader.break_off()] if (done := assembler.feed(event))]
    assert frames and visible_text(frames) == ""


def test_raw_output_cut_by_a_filter_proves_no_answer() -> None:
    raw = {"content": "analysisThe user asks.assistantfinalIt is sunny."}
    assert visible_text(read({"delta": raw, "finish_reason": "stop"})[0]) == "It is sunny."
    for cut in ("content_filter", "length"):
        assert visible_text(read({"delta": raw, "finish_reason": cut})[0]) == ""


def test_raw_output_of_a_broken_stream_proves_no_answer() -> None:
    reader, assembler = Deltas(lambda: "c", max_chars=1000), Assembler()
    raw = {"content": f"analysis{SECRET}.assistantfinalIt is sunny."}
    events = [*reader.feed({"choices": [{"delta": raw, "finish_reason": "stop"}]}), *reader.break_off()]
    frames = [done for event in events if (done := assembler.feed(event))]
    assert frames and visible_text(frames) == ""


def test_fields_around_the_content_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    look = Mock(wraps=speaker.label_of_envelope)
    monkeypatch.setattr(speaker, "label_of_envelope", look)
    reader = Deltas(lambda: "c", max_chars=1000)
    for word in ("Hi", " there", "!"):
        reader.feed({"id": "1", "created": 1, "model": "m", "choices": [{"index": 0, "delta": {"content": word}}]})
    assert look.call_count == 1


@pytest.mark.parametrize(("before", "then"), [(None, 1), (False, 0), ("", "thinking"), ([False], [0]), ("harmless", "analysis")])
def test_a_field_beside_a_later_chunk_hides_that_chunk(before: object, then: object) -> None:
    reader, assembler = Deltas(lambda: "c", max_chars=1000), Assembler()
    name = "segment" if isinstance(then, str) else "is_thinking"
    parts = [(before, "Hi"), (before, "!"), (then, SECRET)]
    chunks = [{"id": "1", name: value, "choices": [{"index": 0, "delta": {"content": text}}]} for value, text in parts]
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    frames = [done for event in [*events, *reader.finish()[0]] if (done := assembler.feed(event))]
    assert SECRET not in visible_text(frames) and any(SECRET in done.frame.body for done in frames)


def test_choices_that_are_no_list_are_ignored() -> None:
    reader = Deltas(lambda: "c", max_chars=1000)
    invalid: tuple[object, ...] = ({"0": {"delta": {"content": SECRET}}}, SECRET, [], None)
    assert [reader.feed({"choices": choices}) for choices in invalid] == [[]] * 4
