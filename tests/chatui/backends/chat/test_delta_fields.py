"""Each field of a Chat Completions delta: whether its text is the answer, reasoning, a preamble or hidden, and how its frame ends."""

from __future__ import annotations

from typing import Any

import pytest

from chatui.backends.base import EndReason, Usage
from chatui.backends.chat.deltas import Deltas
from chatui.backends.separation import Separation
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import Assembler, Finished
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE
from renderer.frames import Terminator

KINDS = {ANALYSIS: "thought", ANSWER: "answer", PREAMBLE: "preamble", BROKEN: "hidden"}
CALL = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]}
HI, THOUGHT = {"content": "Hi"}, {"reasoning": "hm"}
F = {"index": 0, "id": "a", "function": {"name": "f"}}
G = {"index": 1, "id": "b", "function": {"name": "g"}}
Found = list[tuple[str, str]]


def fold(events: Any) -> list[Finished]:
    assembler = Assembler()
    return [done for event in events if (done := assembler.feed(event))]


def reader_of(*deltas: Any, finish: str | None = None, **options: Any) -> tuple[Deltas, list[Any]]:
    reader = Deltas(lambda: "new", max_chars=options.pop("max_chars", 1000), **{"separation": Separation.STRUCTURED} | options)
    events = [event for delta in deltas for event in reader.feed({"choices": [{"index": 0, "delta": delta}]})]
    return reader, events + (reader.feed({"choices": [{"index": 0, "finish_reason": finish}]}) if finish else [])


def read(*deltas: Any, **options: Any) -> tuple[list[Finished], EndReason]:
    reader, events = reader_of(*deltas, **options)
    rest, reason = reader.finish()
    return fold([*events, *rest]), reason


def kinds(finished: list[Finished]) -> Found:
    return [(KINDS.get(done.frame.header, "call" if done.frame.header.recipient else "after a call"), done.frame.body) for done in finished]


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([{"reasoning": "hm"}], [("thought", "hm")]),
        ([{"reasoning_content": "hm"}], [("thought", "hm")]),
        ([{"thinking": "hm"}], [("thought", "hm")]),
        ([{"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}], [("thought", "hm")]),
        ([{"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}, 5, "x"]}], [("thought", "hmx")]),
        ([{"reasoning": {"content": "hm", "other": "x"}}], [("thought", "hm")]),
        ([{"reasoning": 5, "thinking": {"other": "x"}}], []),
        ([{"reasoning": [["x"], 5, "hm"]}], [("thought", "hm")]),
        ([{"content": [{"type": "output_text", "text": "Hi"}]}], [("answer", "Hi")]),
        ([{"reasoning": "", "reasoning_content": "hm"}], [("thought", "hm")]),
        ([{"reasoning": "hm", "thinking": "hm"}], [("thought", "hm")]),
        ([{"content": "Hi", "reasoning": "hm"}], [("thought", "hm"), ("answer", "Hi")]),
        ([{"content": "hm", "reasoning": "hm"}, HI], [("thought", "hm"), ("answer", "Hi")]),
        ([THOUGHT, {"content": "\n", "reasoning": "\n"}, HI], [("thought", "hm\n"), ("answer", "\nHi")]),
        ([HI, THOUGHT, {"content": "there"}], [("answer", "Hithere"), ("thought", "hm")]),
        ([{"content": "I look."}, THOUGHT, {"content": "**It** is."}], [("answer", "I look.\n\n**It** is."), ("thought", "hm")]),
        ([{"content": "I look. "}, THOUGHT, {"content": "It is."}], [("answer", "I look. It is."), ("thought", "hm")]),
        ([{"content": "**a."}, THOUGHT, {"content": "** B"}], [("answer", "**a.** B"), ("thought", "hm")]),
        ([{"content": "x = 3."}, THOUGHT, {"content": "14"}], [("answer", "x = 3.14"), ("thought", "hm")]),
        ([HI, {"reasoning": " "}, {"content": " there"}], [("answer", "Hi there"), ("thought", " ")]),
        ([THOUGHT, HI, {"content": "!"}], [("thought", "hm"), ("answer", "Hi!")]),
        ([{"content": [{"type": "text", "text": "Hi"}, {"type": "x", "text": "hm"}]}], [("thought", "hm"), ("answer", "Hi")]),
        ([{"content": [{"type": "output_text", "text": "Hi", "channel": "analysis"}]}], [("thought", "Hi")]),
        ([{"content": [{"type": "text", "text": {"text": "hm"}}]}], [("thought", "hm")]),
        ([{"content": 5, "refusal": 5}, HI], [("answer", "Hi")]),
        ([{"content": "hm", "channel": "analysis"}], [("thought", "hm")]),
        ([{"content": "hm", "role": "tool"}], [("hidden", "hm")]),
        ([{"content": "hm", "mystery": "thinking"}], [("hidden", "hm")]),
        ([{"refusal": "hm", "role": "user"}], [("hidden", "hm")]),
        ([HI, CALL, {"content": "more"}], [("answer", "Hi"), ("after a call", "more"), ("call", "{}")]),
        ([CALL, {"reasoning": "hm"}], [("hidden", "hm"), ("call", "{}")]),
        ([{"refusal": "No."}], [("answer", "No.")]),
        ([{"thoughts": "hm"}, HI], [("answer", "Hi")]),
        ([{"content": {"text": "hm"}}, HI], [("answer", "Hi")]),
        ([{"logprobs": {"content": [{"token": "hm"}]}, "annotations": ["hm"]}, HI], [("answer", "Hi")]),
        ([HI, CALL, {"content": " "}], [("answer", "Hi "), ("call", "{}")]),
    ],
)
def test_each_field_has_its_place(deltas: list[Any], expected: Found) -> None:
    assert kinds(read(*deltas)[0]) == expected


def test_hidden_text_of_an_unknown_label_is_announced_and_that_of_another_speaker_is_not() -> None:
    for label, error in (({"mystery": "thinking"}, ProductCode.WITHHELD), ({"role": "tool"}, Code.PARSE_HEADER)):
        [done] = read({"content": "hm"} | label)[0]
        assert (done.frame.header, done.error) == (BROKEN, error)


@pytest.mark.parametrize(
    ("deltas", "finish", "reason", "end", "error"),
    [
        ([HI], "stop", EndReason.STOP, Terminator.RETURN, None),
        ([HI], None, EndReason.STOP, Terminator.RETURN, None),
        ([HI], "odd", EndReason.STOP, Terminator.RETURN, None),
        ([HI], "length", EndReason.LENGTH, Terminator.END, ProductCode.LENGTH),
        ([HI], "content_filter", EndReason.CONTENT_FILTER, Terminator.END, None),
        ([HI], "tool_calls", EndReason.TOOL_CALLS, Terminator.END, None),
        ([HI], "function_call", EndReason.TOOL_CALLS, Terminator.END, None),
        ([HI, THOUGHT], "stop", EndReason.STOP, Terminator.END, None),
        ([HI, CALL], "stop", EndReason.TOOL_CALLS, Terminator.END, None),
        ([{"refusal": "No."}], "stop", EndReason.REFUSAL, Terminator.RETURN, None),
        ([{"refusal": "No."}], "length", EndReason.LENGTH, Terminator.END, ProductCode.LENGTH),
        ([{"refusal": "No."}, CALL], "length", EndReason.LENGTH, Terminator.END, ProductCode.LENGTH),
        ([{"refusal": "No."}], "content_filter", EndReason.REFUSAL, Terminator.RETURN, None),
        ([{"refusal": "No.", "channel": "analysis"}], "stop", EndReason.STOP, Terminator.END, None),
    ],
)
def test_the_frame_ends_as_the_server_reports(
    deltas: list[Any], finish: str | None, reason: EndReason, end: Terminator, error: ProductCode | None
) -> None:
    finished, found = read(*deltas, finish=finish)
    assert (found, finished[0].error, finished[0].complete) == (reason, error, error is None)
    assert error is not None or finished[0].frame.terminator is end
    assert reader_of(*deltas, finish=finish)[0].has_finished is (finish is not None)


@pytest.mark.parametrize(
    ("deltas", "options", "expected"),
    [
        ([HI, CALL], {"has_tools": True}, "preamble"),
        ([HI, CALL], {"has_tools": False}, "answer"),
        ([HI], {"has_tools": True}, "answer"),
        ([HI, CALL], {"has_tools": True, "finish": "length"}, "answer"),
        ([THOUGHT, CALL], {"has_tools": True}, "thought"),
    ],
)
def test_text_before_a_call_is_a_preamble_if_tools_were_offered(deltas: list[Any], options: dict[str, Any], expected: str) -> None:
    assert kinds(read(*deltas, **options)[0])[0][0] == expected


@pytest.mark.parametrize("reported", ["", None, 5, {"type": "stop"}])
def test_a_reason_that_is_no_text_is_none(reported: object) -> None:
    reader, _ = reader_of(HI)
    reader.feed({"choices": [{"index": 0, "finish_reason": reported}]})
    assert not reader.has_finished


def test_a_broken_stream_leaves_incomplete_frames_and_no_call() -> None:
    reader, events = reader_of(HI, THOUGHT, CALL)
    answer, thought, call = fold([*events, *reader.break_off(ProductCode.TIMEOUT)])
    assert (answer.frame.header, answer.complete, answer.error) == (ANSWER, False, ProductCode.TIMEOUT)
    assert thought.complete
    assert (call.complete, call.error) == (False, ProductCode.TIMEOUT)


def test_the_limit_counts_every_text_and_cuts_the_one_that_exceeds_it() -> None:
    for room, is_full, body in ((4, False, "Hi"), (3, True, "H"), (2, True, None)):
        reader, events = reader_of(THOUGHT, HI, max_chars=room)
        assert reader.is_full is is_full
        finished = fold([*events, *reader.finish()[0]])
        assert [text for kind, text in kinds(finished) if kind == "answer"] == ([body] if body else [])


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        ([{"id": "a", "function": {"name": "f", "arguments": "{"}}, None], [("f", "{", "a")]),
        ([{"id": "a b", "function": {"name": "f"}}], [("f", "{}", "new")]),
        ([{"index": "x", "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}], [("f", '{"x": 1}', "a")]),
        (
            [G, F],
            [("f", "{}", "a"), ("g", "{}", "b")],
        ),
        (
            [F, {**G, "index": 0}],
            [("f", "{}", "a"), ("g", "{}", "b")],
        ),
        ([5, {"function": "x", "id": "a"}, {"function": {"name": "f"}, "id": "b"}], [("no_name", "{}", "a"), ("f", "{}", "b")]),
        ([F, {}, {"index": 7}, {"index": 7, "function": {"name": "", "arguments": None}}], [("f", "{}", "a")]),
    ],
)
def test_calls_are_put_together_from_their_fragments(fragments: Any, expected: list[tuple[str, str, str]]) -> None:
    finished, _ = read({"tool_calls": fragments})
    found = [(str(done.frame.header.recipient or "").removeprefix("functions."), done.frame.body) for done in finished]
    assert found == [(name, body) for name, body, _ in expected]
    assert [done.frame.header.call_id for done in finished if done.frame.header.recipient] == [one for name, _, one in expected if name]


def test_the_envelope_names_the_model_and_counts_the_tokens() -> None:
    reader: Any = Deltas(lambda: "new", max_chars=100, separation=Separation.STRUCTURED)
    assert [reader.is_empty, reader.model, reader.usage] == [True, None, None]
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 3}}
    assert reader.feed({"model": "tiny", "usage": usage, "choices": []}) == []
    reader.feed({"model": "", "usage": None, "choices": None})
    reader.feed({"model": 5, "usage": [], "choices": [5]})
    assert (reader.model, reader.usage, reader.is_empty) == ("tiny", Usage(9, 4, 3), True)
    reader.feed({"usage": {"prompt_tokens": "9", "prompt_tokens_details": 5}})
    assert reader.usage == Usage(None, None, None)
    reader.feed({"choices": [{"index": None, "message": THOUGHT}]})
    assert not reader.is_empty
    assert not reader_of(CALL)[0].is_empty


def test_text_after_a_call_is_flagged() -> None:
    late = read(HI, CALL, {"reasoning": "hm"}, {"content": "more"})[0][1:-1]
    assert [(done.frame.header.channel, done.frame.header.intent, done.error) for done in late] == [
        ("analysis", "debug", Code.CALL_SCHEMA),
        ("final", "debug", Code.CALL_SCHEMA),
    ]


def test_white_space_between_text_after_a_call_belongs_to_it() -> None:
    assert kinds(read(CALL, {"content": "a"}, {"content": " "}, {"content": "b"})[0]) == [("after a call", "a b"), ("call", "{}")]


def test_hidden_text_of_the_answer_field_is_kept() -> None:
    assert kinds(read({"content": "<think>x</think>Hi"})[0])[-1] == ("answer", "Hi")
    assert [done.frame.body for done in read({"content": "<think>x</think>Hi"})[0]] == ["<think>x</think>", "Hi"]
    assert [done.frame.body for done in read({"content": "analysisx.assistantfinalHi"})[0]] == ["analysisx.assistantfinal", "Hi"]


def test_the_reasoning_fields_are_collected() -> None:
    reasoning = reader_of({"reasoning": "h"}, {"reasoning": "m"}, {"content": "Hi"})[0].reasoning
    assert reasoning is not None and reasoning.fields == {"reasoning": "hm"}


@pytest.mark.parametrize("odd", [None, "x", [0], {}, 1.5])
def test_a_fragment_without_a_usable_index_belongs_to_its_place(odd: object) -> None:
    rest = {"index": odd, "function": {"arguments": "{}"}}
    finished = read({"tool_calls": [{**F, "index": odd}, G]}, {"tool_calls": [rest]})[0]
    assert [(done.frame.header.recipient, done.frame.body) for done in finished] == [("functions.f", "{}"), ("functions.g", "{}")]


def test_an_index_keeps_fragments_apart_that_arrive_in_any_order() -> None:
    pieces = [{"index": place, "function": {"arguments": text}} for place, text in ((1, '{"b"'), (0, '{"a"'), (1, ": 2}"), (0, ": 1}"))]
    finished = read({"tool_calls": [F, G]}, *({"tool_calls": [piece]} for piece in pieces))[0]
    assert [done.frame.body for done in finished] == ['{"a": 1}', '{"b": 2}']


def test_each_message_of_raw_output_in_one_answer_has_its_own_frame() -> None:
    raw = "<|channel|>final<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>Two.<|return|>"
    assert [found for found in kinds(read({"content": raw})[0]) if found[0] == "answer"] == [("answer", "One."), ("answer", "Two.")]


def test_text_of_another_speaker_and_hidden_text_of_the_answer_are_one_hidden_frame() -> None:
    deltas = [{"role": "tool", "content": "x"}, {"role": "assistant", "content": "<think>y</think>Hi"}]
    assert kinds(read(*deltas)[0]) == [("hidden", "x<think>y</think>"), ("answer", "Hi")]
    withheld = [HI, {"mystery": "thinking", "content": "a"}, {"content": "<think>b</think>"}]
    assert kinds(read(*withheld, separation=Separation.UNPROVEN)[0]) == [("hidden", "a"), ("answer", "Hi"), ("hidden", "<think>b</think>")]


def test_what_interrupted_an_answer_that_is_held_comes_before_it() -> None:
    found = kinds(read(HI, THOUGHT, {"content": "</think>Answer."}, separation=Separation.UNPROVEN)[0])
    assert found == [("thought", "hm"), ("hidden", "Hi</think>"), ("answer", "Answer.")]


def test_escaped_markers_are_restored_in_answers_and_arguments_to_the_last_character() -> None:
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"q": "<\u2060|end|>"}'}}]}
    reader, events = reader_of({"content": "I say <\u2060|end|>, 1 <"}, call)
    answer, called = fold([*events, *reader.finish()[0]])
    assert (answer.frame.body, called.frame.body) == ("I say <|end|>, 1 <", '{"q": "<|end|>"}')
    reader, events = reader_of({"content": "1 <"})
    assert [(done.frame.body, done.complete) for done in fold([*events, *reader.break_off()])] == [("1 <", False)]
