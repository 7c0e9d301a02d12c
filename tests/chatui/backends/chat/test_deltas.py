"""Parsing chunks of a Chat Completions stream, without a server: which text is the answer, how the sample ended, and what is sent back.

Reasoning is sent back to its server in its own fields, whole and unchanged, or not at all; tool calls with valid JSON.
"""

import json
from typing import Any

import pytest

from chatui.backends.answer_format import arguments, as_json
from chatui.backends.base import EndReason, GivenReasoning, Usage
from chatui.backends.chat.deltas import Deltas
from chatui.backends.chat.messages import messages
from chatui.backends.chat.reasoning import ReasoningCollector
from chatui.backends.leaks.labels import Asked
from chatui.backends.separation import Separation
from chatui.backends.speaker import REASONING_FIELDS, REASONING_TEXTS
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import Assembler, Finished, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE
from renderer.frames import Frame, Header, Terminator
from renderer.gate import Audience, may_see
from renderer.harmony.prompt import FunctionTool

SECRET = "SECRETzzq"
TOOLS = Asked(tools=(FunctionTool("look"),))


def read(*choices: dict[str, Any], max_chars: int = 1000) -> tuple[list[Finished], EndReason]:
    """The frames, and the reason why the sample ended."""
    reader, assembler = Deltas(lambda: "c", max_chars=max_chars), Assembler()
    events: list[RawEvent] = [event for choice in choices for event in reader.feed({"choices": [choice]})]
    rest, reason = reader.finish()
    return [done for event in [*events, *rest] if (done := assembler.feed(event))], reason


def visible_text(frames: list[Finished]) -> str:
    return "".join(done.frame.body for done in frames if may_see(done.frame.header, Audience.END_USER))


@pytest.mark.parametrize("index", [{"index": 0}, {}])
def test_the_first_choice_is_read_wherever_it_stands_in_the_chunk(index: dict[str, int]) -> None:
    reader, assembler = Deltas(lambda: "c", max_chars=1000), Assembler()
    others = [{"index": 2, "delta": {"content": SECRET}}, "x", {"index": 1, "delta": {"content": SECRET}, "finish_reason": "length"}]
    events = reader.feed({"choices": [*others, {**index, "delta": {"content": "Hi!"}, "finish_reason": "stop"}]})
    rest, reason = reader.finish()
    assert [done.frame.body for event in [*events, *rest] if (done := assembler.feed(event))] == ["Hi!"] and reason is EndReason.STOP


def test_reasoning_in_a_refusal_is_hidden_as_in_an_answer() -> None:
    frames, reason = read({"index": 0, "delta": {"refusal": f"<think>{SECRET}</think>I cannot help."}})
    assert (visible_text(frames), reason) == ("I cannot help.", EndReason.REFUSAL)


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
    assert visible_text(read(as_token, {"delta": {}, "finish_reason": "stop"})[0]) == ""
    assert visible_text(read(thought, as_token, {"delta": {}, "finish_reason": "stop"})[0]) == '{"q": "x"}', "no sign takes it back"


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


@pytest.mark.parametrize("body", ["{oops", "[1]", "", '"x"', "[" * 100_000])
def test_unparsable_arguments_are_sent_back_as_an_empty_object(body: str) -> None:
    assert arguments(body) == "{}"
    [call, _] = messages([Frame(CALL, body, Terminator.CALL), REPLY])
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {}  # type: ignore[index]


def test_a_function_without_parameters_has_an_empty_schema() -> None:
    assert as_json(FunctionTool("now", "Tells the time."))["parameters"] == {"type": "object", "properties": {}}


def test_preambles_beside_reasoning_without_text_are_the_text_of_the_call() -> None:
    given = {"c1": GivenReasoning({"reasoning_details": [{"type": "x"}]})}
    call = messages([THOUGHT, PLAN, PLAN, Frame(CALL, "{}", Terminator.CALL), REPLY], None, given)[0]
    assert (call["content"], call["reasoning_details"]) == ("I look.\n\nI look.", [{"type": "x"}])


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


# Each field of a Chat Completions delta: whether its text is the answer, reasoning, a preamble or hidden, and how its frame ends.


KINDS = {ANALYSIS: "thought", ANSWER: "answer", PREAMBLE: "preamble", BROKEN: "hidden"}
A_CALL = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}]}
HI, HM = {"content": "Hi"}, {"reasoning": "hm"}
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


def fields(*deltas: Any, **options: Any) -> tuple[list[Finished], EndReason]:
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
        ([HM, {"content": "\n", "reasoning": "\n"}, HI], [("thought", "hm\n"), ("answer", "\nHi")]),
        ([HI, HM, {"content": "there"}], [("answer", "Hithere"), ("thought", "hm")]),
        ([{"content": "I look."}, HM, {"content": "**It** is."}], [("answer", "I look.\n\n**It** is."), ("thought", "hm")]),
        ([{"content": "I look. "}, HM, {"content": "It is."}], [("answer", "I look. It is."), ("thought", "hm")]),
        ([{"content": "**a."}, HM, {"content": "** B"}], [("answer", "**a.** B"), ("thought", "hm")]),
        ([{"content": "x = 3."}, HM, {"content": "14"}], [("answer", "x = 3.14"), ("thought", "hm")]),
        ([HI, {"reasoning": " "}, {"content": " there"}], [("answer", "Hi there"), ("thought", " ")]),
        ([HM, HI, {"content": "!"}], [("thought", "hm"), ("answer", "Hi!")]),
        ([{"content": [{"type": "text", "text": "Hi"}, {"type": "x", "text": "hm"}]}], [("thought", "hm"), ("answer", "Hi")]),
        ([{"content": [{"type": "output_text", "text": "Hi", "channel": "analysis"}]}], [("thought", "Hi")]),
        ([{"content": [{"type": "text", "text": {"text": "hm"}}]}], [("thought", "hm")]),
        (
            [{"content": [{"type": "text", "text": "Hi"}, {"text": "h"}, {"type": None, "text": "m"}, "!"]}],
            [("thought", "hm"), ("answer", "Hi")],
        ),
        ([{"content": 5, "refusal": 5}, HI], [("answer", "Hi")]),
        ([{"content": "hm", "channel": "analysis"}], [("thought", "hm")]),
        ([{"content": "hm", "role": "tool"}], [("hidden", "hm")]),
        ([{"content": "hm", "mystery": "thinking"}], [("hidden", "hm")]),
        ([{"refusal": "hm", "role": "user"}], [("hidden", "hm")]),
        ([HI, A_CALL, {"content": "more"}], [("answer", "Hi"), ("after a call", "more"), ("call", "{}")]),
        ([A_CALL, {"reasoning": "hm"}], [("hidden", "hm"), ("call", "{}")]),
        ([{"refusal": "No."}], [("answer", "No.")]),
        ([{"thoughts": "hm"}, HI], [("answer", "Hi")]),
        ([{"content": {"text": "hm"}}, HI], [("answer", "Hi")]),
        ([{"logprobs": {"content": [{"token": "hm"}]}, "annotations": ["hm"]}, HI], [("answer", "Hi")]),
        ([HI, A_CALL, {"content": " "}], [("answer", "Hi "), ("call", "{}")]),
    ],
)
def test_each_field_has_its_place(deltas: list[Any], expected: Found) -> None:
    assert kinds(fields(*deltas)[0]) == expected


WEIGHED = f"The user asks, and I weigh {SECRET} first."
WHOLE = {"role": "assistant", "reasoning_content": WEIGHED, "content": "It is 42."}


@pytest.mark.parametrize("separation", Separation)
@pytest.mark.parametrize(
    "choices",
    [
        [{"delta": {"content": f"{WEIGHED}\n\n"}}, {"delta": {"content": "It is 42."}}, {"delta": {"reasoning_content": WEIGHED}}],
        [{"delta": {"content": f"{WEIGHED}\n\nIt is 42."}}, {"delta": {}, "message": WHOLE}],
        [{"delta": {"content": f"{WEIGHED}\n\nIt is 42."}}, {"message": WHOLE}],
        [{"delta": {"content": f"{WEIGHED}\n\nIt is 42.", "role": "assistant"}, "message": WHOLE}],
        [{"delta": {"reasoning": "hm"}}, {"delta": {"content": f"{WEIGHED}\n\nIt is 42."}}, {"message": WHOLE}],
        [{"delta": {"reasoning": f"Hm. {WEIGHED}"}}, {"delta": {"content": f"{WEIGHED}\n\nIt is 42."}}, {"message": WHOLE}],
        [{"delta": {"content": f"{WEIGHED}\n\n"}}, {"delta": {"reasoning": WEIGHED}}, {"delta": {"content": "It is 42."}}],
        [{"delta": {"reasoning": WEIGHED}}, {"message": {**WHOLE, "content": f"{WEIGHED}\n\nIt is 42."}}],
    ],
)
def test_what_comes_as_reasoning_and_as_the_answer_is_reasoning_whichever_comes_first(
    choices: list[dict[str, Any]], separation: Separation
) -> None:
    reader, assembler = Deltas(lambda: "c", max_chars=1000, separation=separation), Assembler()
    events = [event for choice in choices for event in reader.feed({"choices": [{"index": 0, **choice}]})]
    finished = [done for event in [*events, *reader.finish()[0]] if (done := assembler.feed(event))]
    assert visible_text(finished).strip() == "It is 42."


@pytest.mark.parametrize("separation", [Separation.STRUCTURED, Separation.PLAIN])
def test_reasoning_that_comes_after_the_text_it_was_shown_as_ends_the_proof(separation: Separation) -> None:
    reader = Deltas(lambda: "c", max_chars=1000, separation=separation)
    shown = reader.feed({"choices": [{"delta": {"content": f"{WEIGHED}\n\nIt is 42."}}]})
    assert any(isinstance(event, FrameText) for event in shown)
    events = [*reader.feed({"choices": [{"delta": {}, "message": WHOLE}]}), *reader.finish()[0]]
    assert any(isinstance(event, FrameWithdrawn) for event in events) and reader.read.has_sign


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ([{"delta": {"role": "assistant"}, "message": {"role": "assistant", "content": "Hi"}}], [("answer", "Hi")]),
        ([{"delta": {"role": "assistant"}, "message": {"reasoning": "hm", "content": "Hi"}}], [("thought", "hm"), ("answer", "Hi")]),
        ([{"delta": HM}, {"delta": {}, "message": {"reasoning": "hm", "content": "Hi"}}], [("thought", "hm"), ("answer", "Hi")]),
        ([{"delta": HM, "message": {"reasoning": "hm"}}, {"delta": HI}], [("thought", "hm"), ("answer", "Hi")]),
        ([{"delta": HI}, {"message": {"reasoning": "hm", "content": "Hi"}}], [("thought", "hm"), ("answer", "Hi")]),
        ([{"delta": HI, "message": HI}, {"delta": {"content": "!"}, "message": {"content": "!"}}], [("answer", "Hi!")]),
        ([{"delta": {"role": "assistant"}, "message": {"role": "tool", "content": "hm"}}], [("hidden", "hm")]),
        ([{"delta": {"channel": "analysis"}, "message": {"content": "hm"}}], [("thought", "hm")]),
        ([{"delta": A_CALL}, {"message": {"reasoning": "hm", "content": "Hi", **A_CALL}}], [("call", "{}")]),
    ],
)
def test_a_whole_message_adds_what_the_deltas_had_not(choices: list[dict[str, Any]], expected: Found) -> None:
    assert kinds(read(*({"index": 0, **choice} for choice in choices))[0]) == expected


def test_hidden_text_of_an_unknown_label_is_announced_and_that_of_another_speaker_is_not() -> None:
    for label, error in (({"mystery": "thinking"}, ProductCode.WITHHELD), ({"role": "tool"}, Code.PARSE_HEADER)):
        [done] = fields({"content": "hm"} | label)[0]
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
        ([HI, HM], "stop", EndReason.STOP, Terminator.END, None),
        ([HI, A_CALL], "stop", EndReason.TOOL_CALLS, Terminator.END, None),
        ([HI, A_CALL], "length", EndReason.LENGTH, Terminator.END, ProductCode.LENGTH),
        ([{"refusal": "No."}], "stop", EndReason.REFUSAL, Terminator.RETURN, None),
        ([{"refusal": "No."}], "length", EndReason.LENGTH, Terminator.END, ProductCode.LENGTH),
        ([{"refusal": "No."}, A_CALL], "length", EndReason.LENGTH, Terminator.END, ProductCode.LENGTH),
        ([{"refusal": "No."}], "content_filter", EndReason.REFUSAL, Terminator.RETURN, None),
        ([{"refusal": "No.", "channel": "analysis"}], "stop", EndReason.STOP, Terminator.END, None),
    ],
)
def test_the_frame_ends_as_the_server_reports(
    deltas: list[Any], finish: str | None, reason: EndReason, end: Terminator, error: ProductCode | None
) -> None:
    finished, found = fields(*deltas, finish=finish)
    assert (found, finished[0].error, finished[0].complete) == (reason, error, error is None)
    assert error is not None or finished[0].frame.terminator is end
    assert reader_of(*deltas, finish=finish)[0].has_finished is (finish is not None)


@pytest.mark.parametrize(
    ("deltas", "options", "expected"),
    [
        ([HI, A_CALL], {"asked": TOOLS}, "preamble"),
        ([HI, A_CALL], {}, "answer"),
        ([HI], {"asked": TOOLS}, "answer"),
        ([HI, A_CALL], {"asked": TOOLS, "finish": "length"}, "answer"),
        ([HM, A_CALL], {"asked": TOOLS}, "thought"),
    ],
)
def test_text_before_a_call_is_a_preamble_if_tools_were_offered(deltas: list[Any], options: dict[str, Any], expected: str) -> None:
    assert kinds(fields(*deltas, **options)[0])[0][0] == expected


@pytest.mark.parametrize("reported", ["", None, 5, {"type": "stop"}])
def test_a_reason_that_is_no_text_is_none(reported: object) -> None:
    reader, _ = reader_of(HI)
    reader.feed({"choices": [{"index": 0, "finish_reason": reported}]})
    assert not reader.has_finished


def test_a_broken_stream_leaves_incomplete_frames_and_no_call() -> None:
    reader, events = reader_of(HI, HM, A_CALL)
    answer, thought, call = fold([*events, *reader.break_off(ProductCode.TIMEOUT)])
    assert (answer.frame.header, answer.complete, answer.error) == (ANSWER, False, ProductCode.TIMEOUT)
    assert thought.complete
    assert (call.complete, call.error) == (False, ProductCode.TIMEOUT)


def test_the_limit_counts_every_text_and_cuts_the_one_that_exceeds_it() -> None:
    for room, is_full, body in ((4, False, "Hi"), (3, True, "H"), (2, True, None)):
        reader, events = reader_of(HM, HI, max_chars=room)
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
    finished, _ = fields({"tool_calls": fragments})
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
    reader.feed({"choices": [{"index": None, "message": HM}]})
    assert not reader.is_empty
    assert not reader_of(A_CALL)[0].is_empty


def test_white_space_between_text_after_a_call_belongs_to_it() -> None:
    assert kinds(fields(A_CALL, {"content": "a"}, {"content": " "}, {"content": "b"})[0]) == [("after a call", "a b"), ("call", "{}")]


def test_text_of_another_speaker_and_hidden_text_of_the_answer_are_one_hidden_frame() -> None:
    deltas = [{"role": "tool", "content": "x"}, {"role": "assistant", "content": "<think>y</think>Hi"}]
    assert kinds(fields(*deltas)[0]) == [("hidden", "x<think>y</think>"), ("answer", "Hi")]
    withheld = HI, {"mystery": "thinking", "content": "a"}, {"content": "<think>b</think>"}
    expected = [("hidden", "a"), ("answer", "Hi"), ("hidden", "<think>b</think>")]
    assert kinds(fields(*withheld, separation=Separation.UNPROVEN)[0]) == expected


def test_what_interrupted_an_answer_that_is_held_comes_before_it() -> None:
    found = kinds(fields(HI, HM, {"content": "</think>Answer."}, separation=Separation.UNPROVEN)[0])
    assert found == [("thought", "hm"), ("hidden", "Hi</think>"), ("answer", "Answer.")]


def test_escaped_markers_are_restored_in_answers_and_arguments_to_the_last_character() -> None:
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"q": "<\u2060|end|>"}'}}]}
    reader, events = reader_of({"content": "I say <\u2060|end|>, 1 <"}, call)
    answer, called = fold([*events, *reader.finish()[0]])
    assert (answer.frame.body, called.frame.body) == ("I say <|end|>, 1 <", '{"q": "<|end|>"}')
    reader, events = reader_of({"content": "1 <"})
    assert [(done.frame.body, done.complete) for done in fold([*events, *reader.break_off()])] == [("1 <", False)]


def test_of_two_answers_in_raw_output_the_last_is_shown() -> None:
    raw = "<|channel|>final<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>Two.<|return|>"
    assert [found for found in kinds(fields({"content": raw})[0]) if found[0] == "answer"] == [("answer", "Two.")]
