"""Parsing chunks of a Chat Completions stream, without a server: which text is the answer, how the sample ended, and what is sent back.

Reasoning is sent back to its server in its own fields, whole and unchanged, or not at all; tool calls with valid JSON.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatui.backends.answer_format import arguments, as_json
from chatui.backends.base import EndReason, GivenReasoning
from chatui.backends.chat.deltas import Deltas, ReasoningCollector
from chatui.backends.chat.messages import messages
from chatui.backends.responses.backend import prompt
from chatui.backends.speaker import REASONING_FIELDS, REASONING_TEXTS
from renderer.events import Assembler, Finished, RawEvent
from renderer.frames import Frame, Header, Terminator
from renderer.gate import Audience, may_see
from renderer.harmony.prompt import FunctionTool

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


def test_text_that_ends_like_a_call_is_hidden_unless_the_server_read_one() -> None:
    text = {"delta": {"content": "I look it up."}}
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]}
    for end in ({"stop_reason": 200012}, {"matched_stop": 200012}, {"meta_info": {"finish_reason": {"matched": 200012}}}):
        assert visible_text(read(text, {"delta": {}, "finish_reason": "stop", **end})[0]) == ""
        assert visible_text(read(text, {"delta": call, "finish_reason": "stop", **end})[0]) == "I look it up."
    assert visible_text(read(text, {"delta": {}, "finish_reason": "stop", "stop_reason": 200002})[0]) == "I look it up."
    as_data = {"delta": {"content": '{"q": "x"}'}}
    assert visible_text(read(as_data, {"delta": {}, "finish_reason": "tool_calls"})[0]) == ""
    assert visible_text(read(as_data, {"delta": {}, "finish_reason": "stop"})[0]) == '{"q": "x"}'
    thought = {"delta": {"reasoning": "I think, and then I look."}}
    as_token = {"delta": {"content": '{"q": "x"}<|call|>'}}
    assert visible_text(read(thought, as_token, {"delta": {}, "finish_reason": "stop"})[0]) == ""


@pytest.mark.parametrize(("before", "then"), [(None, True), (False, True), ("", "thinking"), ([False], [True]), ("harmless", "analysis")])
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


CALL = Header("assistant", "commentary", recipient="functions.look", call_id="c1", constrain="json")
REPLY = Frame(Header("tool", "commentary", recipient="assistant", name="functions.look", call_id="c1"), '{"ok": true}')
THOUGHT = Frame(Header("assistant", "analysis"), "I must look.")
PLAN = Frame(Header("assistant", "commentary", intent="preamble"), "I look.")


def collected(*deltas: dict[str, Any], max_chars: int = 1000) -> dict[str, Any] | None:
    collector = ReasoningCollector(max_chars)
    for delta in deltas:
        collector.feed(delta)
    given = collector.given()
    return given.fields if given else None


def test_text_is_joined_in_the_field_it_came_in() -> None:
    assert collected({"reasoning": "I "}, {"content": "x"}, {"reasoning": "look."}) == {"reasoning": "I look."}
    assert collected({"content": "x"}, {"reasoning": ""}) is None


def test_fragments_of_a_detail_are_joined_and_a_late_signature_counts() -> None:
    fragments: list[dict[str, Any]] = [
        {"type": "reasoning.text", "text": "I ", "index": 0, "signature": None},
        {"type": "reasoning.encrypted", "data": "abc", "index": 1},
        {"type": "reasoning.text", "text": "look.", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "def", "index": 1, "format": "f"},
    ]
    assert collected({"reasoning": "I look."}, *({"reasoning_details": [each]} for each in fragments)) == {
        "reasoning_details": [
            {"type": "reasoning.text", "text": "I look.", "index": 0, "signature": "s"},
            {"type": "reasoning.encrypted", "data": "abcdef", "index": 1, "format": "f"},
        ]
    }


def test_oversized_reasoning_is_not_sent_back_in_part() -> None:
    assert collected({"reasoning": "x" * 600}, {"reasoning": "y" * 600}) is None
    assert collected({"reasoning_details": [{"type": "t", "text": "x" * 2000}]}) is None


@pytest.mark.parametrize("field", REASONING_FIELDS)
def test_malformed_fields_are_ignored(field: str) -> None:
    for value in (None, 3, {"a": 1}, [3, None, "x"]):
        assert collected({field: value}) is None


def test_a_preamble_is_sent_with_reasoning_only_where_the_server_accepts_it() -> None:
    frames = [THOUGHT, PLAN, Frame(CALL, "{}", Terminator.CALL), REPLY]
    details = messages(frames, given_back={"c1": GivenReasoning({"reasoning_details": [{"data": "<|end|>"}]})})[0]
    assert (details["content"], details["reasoning_details"]) == ("I look.", [{"data": "<|end|>"}])
    text = messages(frames, given_back={"c1": GivenReasoning({"reasoning_content": "Hm <|end|>"})})[0]
    assert "content" not in text and text["reasoning_content"] == "Hm <\u2060|end|>\n\nI look.", "only text is defanged"
    assert messages(frames)[0]["reasoning_content"] == "I must look.\n\nI look.", "without it, it is made of frames"


def test_reasoning_items_replace_those_made_from_frames() -> None:
    item = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "abc"}
    frames = [THOUGHT, PLAN, Frame(CALL, "{}", Terminator.CALL), REPLY]
    items = prompt(frames, {"c1": GivenReasoning(items=(item,))}).items
    assert items[0] == item and [each["type"] for each in items] == ["reasoning", "message", "function_call", "function_call_output"]


@pytest.mark.parametrize("body", ["{oops", "[1]", "", '"x"', "[" * 100_000])
def test_unparsable_arguments_are_sent_back_as_an_empty_object(body: str) -> None:
    assert arguments(body) == "{}"
    [call, _] = messages([Frame(CALL, body, Terminator.CALL), REPLY])
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {}  # type: ignore[index]


def test_a_function_without_parameters_has_an_empty_schema() -> None:
    assert as_json(FunctionTool("now", "Tells the time."))["parameters"] == {"type": "object", "properties": {}}


def test_reasoning_up_to_the_limit_is_sent_back() -> None:
    assert [collected({"reasoning": "a"}, {"reasoning": "bc"}, max_chars=limit) for limit in (3, 2)] == [{"reasoning": "abc"}, None]


def test_preambles_beside_reasoning_without_text_are_the_text_of_the_call() -> None:
    given = {"c1": GivenReasoning({"reasoning_details": [{"type": "x"}]})}
    call = messages([THOUGHT, PLAN, PLAN, Frame(CALL, "{}", Terminator.CALL), REPLY], None, given)[0]
    assert (call["content"], call["reasoning_details"]) == ("I look.\n\nI look.", [{"type": "x"}])


def test_details_are_told_apart_by_type_and_place() -> None:
    first = [{"type": "t", "index": 0, "text": "a"}, {"type": "t", "index": 1, "text": "b"}, {"type": "u", "index": 0, "data": "x"}]
    found = collected({"reasoning_details": first}, {"reasoning_details": [{"type": "t", "index": 1, "text": "c"}]})
    assert found == {"reasoning_details": [first[0], {"type": "t", "index": 1, "text": "bc"}, first[2]]}


def test_an_empty_value_replaces_none_that_was_known() -> None:
    first = {"type": "t", "index": 0, "signature": "s", "text": None}
    later = {"type": "t", "index": 0, "signature": None, "text": "a"}
    assert collected({"reasoning_details": [first]}) == {"reasoning_details": [first]}
    assert collected({"reasoning_details": [first]}, {"reasoning_details": [later]}) == {"reasoning_details": [first | {"text": "a"}]}
    number = later | {"text": 5}
    assert collected({"reasoning_details": [first]}, {"reasoning_details": [later]}, {"reasoning_details": [number]}) == {
        "reasoning_details": [first | {"text": 5}]
    }


def test_details_without_a_place_are_told_apart_by_their_order() -> None:
    parts = [{"type": "t", "text": "a"}, {"type": "t", "text": "b"}]
    assert collected({"reasoning_details": parts}, {"reasoning_details": parts}) == {
        "reasoning_details": [{"type": "t", "text": "aa"}, {"type": "t", "text": "bb"}]
    }


def test_every_field_counts_towards_the_limit_and_all_are_sent_back() -> None:
    texts = dict.fromkeys(REASONING_TEXTS, "a")
    assert [collected(texts, max_chars=limit) for limit in (len(texts), len(texts) - 1)] == [texts, None]
    details = {"reasoning_details": [{"type": "t"}]}
    assert [collected(details, max_chars=limit) for limit in (13, 12)] == [details, None]
    assert collected({"reasoning": "x" * 20}, {"reasoning": "a"}, details, max_chars=15) is None, "once too much, always too much"


@pytest.mark.parametrize("fields", [{"reasoning_details": [{"type": "x"}]}, {"thinking": "Hm"}])
def test_reasoning_without_a_preamble_is_sent_alone(fields: dict[str, Any]) -> None:
    call = messages([Frame(CALL, "{}", Terminator.CALL), REPLY], None, {"c1": GivenReasoning(fields)})[0]
    assert {name: value for name, value in call.items() if name not in ("role", "tool_calls")} == fields
