"""The frames that several messages of a Responses stream, and the text between them, become."""

from typing import Any

import pytest

from chatui.backends.base import EndReason, Usage
from chatui.backends.raw_frames import Allowance
from chatui.backends.responses.reducer import Reducer
from chatui.backends.responses.speech import TokenLimit
from chatui.backends.separation import Separation
from chatui.codes import ProductCode
from renderer.errors import Code
from renderer.events import FrameOpened, RawEvent
from renderer.frame_kinds import ANALYSIS, ANSWER, BROKEN, PREAMBLE
from renderer.frames import Header
from tests.chatui.backends.responses.test_reducer import SECRET, Read, added, completed, done, message, part, read, text, whole

CALL = done("function_call", "c", call_id="c1", name="look", arguments="{}")
PROSE = "analysis of the rain: it is wet."
"""An answer that is buffered until it is complete, because raw output may begin like this."""


def raws(*events: dict[str, Any]) -> list[RawEvent]:
    reducer = Reducer(lambda: "new", max_chars=10_000, separation=Separation.STRUCTURED)
    return [raw for event in events for raw in reducer.feed(event["type"], event)]


def headers(result: Read) -> list[tuple[Header, str]]:
    return [(finished.frame.header, finished.frame.body) for finished in result.finished]


def ended(item_id: str = "m", body: str = "", **more: Any) -> dict[str, Any]:
    return done("message", item_id, role="assistant", content=[part(body)] if body else [], **more)


def thought(delta: str, item_id: str = "r") -> dict[str, Any]:
    return text(delta, item_id, "reasoning_text.delta")


RAW = f"I weigh {SECRET} first.</think>It is 42."
HINT = done("reasoning", "r", content=[part("A hint.", "reasoning_text")])


@pytest.mark.parametrize("separation", [Separation.UNPROVEN, Separation.STRUCTURED])
@pytest.mark.parametrize("events", [
    [text(RAW), HINT, ended(body=RAW)],
    [text(RAW), HINT, message(), ended(body=RAW)],
    [message(), whole(RAW), HINT, ended(body=RAW)],
])  # fmt: skip
def test_reasoning_that_comes_after_text_proves_nothing_of_it(events: list[dict[str, Any]], separation: Separation) -> None:
    result = read(*events, completed(), separation=separation)
    assert result.visible == "It is 42." and SECRET in result.hidden and not result.reducer.read.proves


def test_text_that_waited_for_its_item_and_was_reasoning_is_known_when_it_comes_again() -> None:
    events = [text(WEIGHED, "r"), WEIGHING, message(), text(ANSWERED), ended(body=ANSWERED), completed()]
    result = read(*events)
    assert result.visible.split() == ["It", "is", "42."] and result.reducer.read.proves


# Headers


@pytest.mark.parametrize(("phase", "header"), [("commentary", PREAMBLE), (None, ANSWER), ("final_answer", ANSWER)])
def test_a_message_is_announced_as_what_it_is_while_it_is_written(phase: object, header: Header) -> None:
    assert [raw.header for raw in raws(message(phase=phase), text("I look.")) if isinstance(raw, FrameOpened)] == [header]


def test_a_second_message_that_is_called_commentary_at_its_end_stays_part_of_the_answer() -> None:
    events = [message(), text("One."), ended(), message("n"), text("Two.", "n"), ended("n", phase="commentary")]
    assert read(*events, completed()).pairs == [("final", "One.\n\nTwo.")]


LATE: list[tuple[dict[str, Any], object]] = [
    ({"channel": "analysis"}, Code.PARSE_HEADER),
    ({"mystery": "thinking"}, ProductCode.WITHHELD),
    ({"phase": "draft"}, Code.PARSE_HEADER),
]


@pytest.mark.parametrize(("late", "error"), LATE)
def test_buffered_text_of_a_second_message_is_hidden_by_a_late_label(late: dict[str, Any], error: object) -> None:
    events = [message(), text("One."), ended(), message("n"), text("anal", "n"), ended("n", **late)]
    result = read(*events, completed())
    assert (result.visible, result.hidden) == ("One.", "anal"), "the label says nothing of the message before it"
    assert [finished.error for finished in result.finished] == [None, error]


WEIGHED = f"The user asks, and I weigh {SECRET} first."
ANSWERED = f"{WEIGHED}\n\nIt is 42."
REASONED = {"type": "reasoning", "id": "r", "content": [part(WEIGHED, "reasoning_text")]}
WEIGHING = done("reasoning", "r", content=REASONED["content"])
TWO_PARTS = [text(WEIGHED, content_index=0), text("It is 42.", content_index=1)]
REPEATED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "reasoning after a message that begins with it": (
        [message(), text(ANSWERED), ended(body=ANSWERED), WEIGHING, completed()], "It is 42."),
    "reasoning while the message is open": ([message(), text(ANSWERED), thought(WEIGHED), completed()], "It is 42."),
    "reasoning between two pieces of it": ([message(), text(WEIGHED), WEIGHING, text("It is 42."), completed()], "It is 42."),
    "reasoning only in the last event": ([message(), text(ANSWERED), ended(body=ANSWERED), completed(REASONED)], "It is 42."),
    "reasoning that repeats a part": ([message(), *TWO_PARTS, WEIGHING, completed()], "It is 42."),
    "reasoning that is a whole message": (
        [message(), text(WEIGHED), ended(body=WEIGHED), WEIGHING, message("n"), text("It is 42.", "n"), completed()], "It is 42."),
    "the second of two thoughts": (
        [done("reasoning", "q", content=[part("Hm.")]), WEIGHING, message(), *map(text, ANSWERED), completed()], "It is 42."),
    "reasoning behind a closing tag": (
        [WEIGHING, message(), *map(text, f"</think>{ANSWERED}"), completed()], "It is 42."),
    "a message before it": (
        [message("n"), text("Hello.", "n"), message(), text(ANSWERED), ended(body=ANSWERED), WEIGHING, completed()], "Hello. It is 42."),
    "a message before the open one": (
        [message("n"), text("Hello.", "n"), message(), text(f"{WEIGHED} It is 42."), thought(WEIGHED), completed()], "Hello. It is 42."),
    "a message behind it": (
        [message(), text(ANSWERED), message("n"), text("Hello.", "n"), WEIGHING, completed()], "It is 42. Hello."),
    "a thought that the last event calls a message": (
        [message(), text("It is 42."), ended(body="It is 42."), WEIGHING,
         completed({**REASONED, "type": "message", "role": "assistant", "content": [part(WEIGHED)]})], "It is 42."),
}  # fmt: skip


@pytest.mark.parametrize("separation", Separation)
@pytest.mark.parametrize("name", REPEATED)
def test_what_comes_as_reasoning_and_as_a_message_is_reasoning_and_other_text_stays(name: str, separation: Separation) -> None:
    events, expected = REPEATED[name]
    result = read(*events, separation=separation)
    assert result.visible.split() == expected.split() and SECRET in result.hidden
    assert result.finished[-1].complete


@pytest.mark.parametrize("name", [name for name in REPEATED if name.startswith("reasoning")])
def test_reasoning_that_comes_after_the_text_it_was_shown_as_ends_the_proof(name: str) -> None:
    assert read(*REPEATED[name][0]).reducer.read.has_sign


def test_a_cut_message_that_begins_as_later_reasoning_does_is_withdrawn_whole() -> None:
    cut: dict[str, Any] = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    for end in ([ended(body=ANSWERED, status="incomplete"), WEIGHING, completed()], [thought(WEIGHED), completed(**cut)]):
        assert read(message(), text(ANSWERED), *end).visible == ""


def test_a_message_that_only_begins_like_reasoning_stays() -> None:
    events = [message(), text(f"{WEIGHED[:-1]}, it is 42."), ended(), done("reasoning", "r", content=[part(WEIGHED)]), completed()]
    result = read(*events)
    assert "it is 42." in result.visible and not result.reducer.read.has_sign


@pytest.mark.parametrize(("late", "error"), LATE)
def test_buffered_text_of_the_only_message_is_hidden_by_a_late_label(late: dict[str, Any], error: object) -> None:
    result = read(message(), text("anal"), ended(**late), completed())
    assert (result.visible, result.hidden, result.finished[0].error) == ("", "anal", error)


@pytest.mark.parametrize("label", [{"is_thinking": True}, {"mystery": "thinking"}])
def test_a_label_beside_later_text_withdraws_what_was_shown(label: dict[str, Any]) -> None:
    result = read(message(), text("Hel"), text("lo", **label), completed())
    assert (result.visible, result.hidden, result.finished[0].error) == ("", "Hello", ProductCode.WITHHELD)


@pytest.mark.parametrize(
    ("answer", "errors"),
    [
        (f"Hi.<think>{SECRET}</think> So.", [None, ProductCode.WITHHELD]),
        (f"<think>{SECRET}</think>Hi.", [Code.PARSE_HEADER, None]),
        (f"{SECRET}</think>Hi.", [ProductCode.WITHHELD, None]),
        ("</think>Hi.", [Code.PARSE_HEADER, None]),
    ],
)
def test_people_are_told_only_of_text_that_is_missing_within_the_answer(answer: str, errors: list[object]) -> None:
    result = read(message(), text(answer), completed(), separation=Separation.UNPROVEN)
    assert [finished.error for finished in result.finished] == errors
    assert SECRET not in result.visible


# Several messages


@pytest.mark.parametrize("between", [[], [added("reasoning", "r"), thought("hm")], [ended(), added("reasoning", "r"), thought("hm")]])
def test_a_doubtful_beginning_is_judged_as_complete_when_something_else_follows(between: list[dict[str, Any]]) -> None:
    events = [message(), text(PROSE), *between, message("n"), text("Two.", "n")]
    assert read(*events, completed()).visible == f"{PROSE}\n\nTwo."


def test_a_doubtful_beginning_is_complete_when_reasoning_follows_its_end() -> None:
    reducer = Reducer(lambda: "new", max_chars=10_000, separation=Separation.STRUCTURED)
    events = [message(), text(PROSE), ended(), added("reasoning", "r"), thought("hm")]
    opened = [raw for event in events for raw in reducer.feed(event["type"], event) if isinstance(raw, FrameOpened)]
    assert [raw.header for raw in opened] == [ANSWER]


def test_nothing_of_a_completion_that_was_cut_is_shown_without_proof() -> None:
    events = [message(), text(PROSE), ended(status="incomplete"), message("n"), text("Two.", "n")]
    assert read(*events, completed(), separation=Separation.UNPROVEN).visible == ""


def test_an_answer_after_withdrawn_messages_begins_without_a_gap() -> None:
    events = [message(), text(f"{SECRET} one."), ended(), message("n"), text(f"{SECRET}</think>Hi.", "n"), completed()]
    assert read(*events, separation=Separation.UNPROVEN).pairs == [("final", "Hi.")]


@pytest.mark.parametrize("breaks", [True, False])
def test_an_answer_that_goes_on_after_reasoning_ends_as_the_stream_does(breaks: bool) -> None:
    events = [message(), text("One."), ended(), added("reasoning", "r"), thought("hm"), message("n"), text("Two.", "n")]
    answer = read(*events, *([] if breaks else [completed()]), breaks=breaks).finished[0]
    assert (answer.frame.body, answer.complete) == ("One.\n\nTwo.", not breaks)
    assert answer.frame.terminator == ("<|end|>" if breaks else "<|return|>")


def test_what_a_part_says_at_its_end_is_written_before_the_next_message() -> None:
    events = [message(), text("On"), whole("One."), message("n"), text("Two.", "n"), completed()]
    assert read(*events).visible == "One.\n\nTwo."
    full = read(*events, max_chars=6)
    assert (full.visible, full.reducer.is_full) == ("On\n\nTwo.", True)


def test_of_two_answers_in_raw_output_the_last_is_shown() -> None:
    raw = "<|channel|>final<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>Two.<|return|>"
    assert read(message(), text(raw), completed()).visible == "Two."


# Text between and after messages


def test_text_between_a_preamble_and_the_answer_stays_between_them() -> None:
    preamble = [message("p", phase="commentary"), text("I look.", "p"), ended("p", phase="commentary")]
    result = read(*preamble, added("reasoning", "r"), thought("hm"), message(), text("Four."), completed())
    assert headers(result) == [(PREAMBLE, "I look."), (ANALYSIS, "hm"), (ANSWER, "Four.")]


def test_text_after_an_answer_is_written_after_it_in_its_order() -> None:
    events = [message(), text("Fo"), thought("a", "r"), thought("b", "s"), text("ur."), ended(), thought("c", "t"), completed()]
    result = read(added("reasoning", "r"), added("reasoning", "s"), added("reasoning", "t"), *events)
    assert headers(result) == [(ANSWER, "Four."), (ANALYSIS, "a"), (ANALYSIS, "b"), (ANALYSIS, "c")]


def test_a_message_without_text_is_no_frame_and_the_next_one_is_the_answer() -> None:
    events = [message(), ended(), message("n"), text("Four.", "n"), ended("n"), completed()]
    assert headers(read(*events)) == [(ANSWER, "Four.")]


# Calls


@pytest.mark.parametrize(("has_tools", "kind"), [(True, "preamble"), (False, "final")])
def test_an_answer_before_a_call_of_an_offered_tool_is_a_preamble(has_tools: bool, kind: str) -> None:
    result = read(message(), text("I look."), ended(), CALL, completed(), has_tools=has_tools)
    assert result.pairs == [(kind, "I look.")]
    assert result.finished[0].frame.terminator == "<|end|>"


@pytest.mark.parametrize("cut", [{"status": "incomplete"}, {"incomplete_details": {"reason": "content_filter"}}])
def test_an_answer_that_was_cut_before_a_call_stays_the_answer(cut: dict[str, Any]) -> None:
    assert read(message(), text("I look."), ended(), CALL, completed(**cut), has_tools=True).pairs == [("final", "I look.")]


def test_a_withdrawn_answer_before_a_call_stays_hidden() -> None:
    late = {"type": "message", "id": "m", "role": "assistant", "channel": "analysis"}
    events = [message(), text(SECRET), ended(), added("reasoning", "r"), thought("hm"), CALL]
    result = read(*events, completed(late), has_tools=True)
    assert (result.visible, headers(result)) == ("", [(BROKEN, SECRET), (ANALYSIS, "hm"), *headers(result)[2:]])


def test_text_before_a_call_of_a_broken_stream_stays_the_answer() -> None:
    result = read(message(), text("I look."), ended(), CALL, breaks=True, has_tools=True)
    assert result.pairs == [("final", "I look.")]
    assert [finished.complete for finished in result.finished] == [False, False]


@pytest.mark.parametrize("label", [{"phase": "analysis"}, {"channel": "analysis"}, {"is_thought": True}, {"visible": False}], ids=str)
def test_a_label_beside_an_item_or_of_the_response_hides_its_text(label: dict[str, Any]) -> None:
    for events in (
        [message() | label, text("words"), ended(), completed()],
        [message(), text("words"), ended() | label, completed()],
        [message(), text("words"), ended(), {**completed(), "response": completed()["response"] | label}],
    ):
        assert "final" not in [kind for kind, _ in read(*events).pairs]


def test_what_a_response_repeats_of_its_request_labels_nothing() -> None:
    echoes = {"instructions": "Think!", "user": "thinker", "reasoning": {"effort": "low"}, "tools": [{"type": "function", "name": "think"}]}
    done = {**completed(), "response": completed()["response"] | echoes}
    assert read(message(), text("words"), ended(), done).pairs == [("final", "words")]


# How a Responses stream ends: what its last event reports, why the model stopped, and the limits of one sample.


Event = dict[str, Any]
CALL_WITH_ARGUMENTS = done("function_call", "c", call_id="c1", name="look", arguments='{"a": 1}')
FILTERED: Event = {"incomplete_details": {"reason": "content_filter"}}


def fed(*events: Event, max_chars: int = 10_000) -> Reducer:
    reducer = Reducer(lambda: "new", max_chars=max_chars, separation=Separation.STRUCTURED)
    for event in events:
        reducer.feed(event["type"], event)
    return reducer


REFUSED = {"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "Hi."}]}
NOT_REFUSED = {"type": "message", "id": "m", "content": [part("Hi."), {"type": "refusal", "refusal": ""}]}


# What the server reports


@pytest.mark.parametrize("kind", ["response.created", "response.in_progress", "response.queued", "response.completed", "response.failed"])
def test_the_model_is_the_last_one_that_an_event_names(kind: str) -> None:
    named: list[Event] = [{"type": kind, "response": {"model": name}} for name in ("first", "second", "", None, 5)]
    reducer = fed(*named, {"type": kind, "response": "x"})
    assert (reducer.model, reducer.oddities) == ("second", {})


@pytest.mark.parametrize(("reported", "status"), [("failed", "failed"), ("", "incomplete"), (5, "incomplete"), (None, "incomplete")])
def test_the_status_inside_the_response_counts_more_than_the_name_of_the_event(reported: object, status: str) -> None:
    assert fed({"type": "response.incomplete", "response": {"status": reported}}).status == status


def test_the_usage_is_that_of_the_last_event() -> None:
    assert fed(completed(usage={"input_tokens": 3, "output_tokens": 4})).usage == Usage(3, 4, None)
    assert fed(completed(usage=[3])).usage is None


def test_output_that_is_no_list_of_objects_is_ignored() -> None:
    answer = {"type": "message", "role": "assistant", "content": [part("Hi")]}
    assert read(completed(5, None, answer)).visible == "Hi"  # type: ignore[arg-type]
    for odd in (None, "x", {"0": answer}):
        assert read({"type": "response.completed", "response": {"status": "completed", "output": odd}}).finished == []


# Why the model stopped


@pytest.mark.parametrize(
    ("response", "reason", "terminator"),
    [
        (completed(), EndReason.STOP, "<|return|>"),
        (completed(**FILTERED), EndReason.CONTENT_FILTER, "<|end|>"),
        (completed(status="incomplete"), EndReason.LENGTH, "<|end|>"),
        (completed(status="incomplete", incomplete_details={"reason": 5}), EndReason.LENGTH, "<|end|>"),
        (completed(incomplete_details={}), EndReason.STOP, "<|return|>"),
        (completed(REFUSED), EndReason.REFUSAL, "<|return|>"),
        (
            completed(NOT_REFUSED),
            EndReason.STOP,
            "<|return|>",
        ),
    ],
)
def test_an_answer_is_final_only_if_the_model_stopped_by_itself(response: Event, reason: EndReason, terminator: str) -> None:
    result = read(message(), text("Hi."), response)
    assert (result.visible, result.reason, result.finished[0].frame.terminator) == ("Hi.", reason, terminator)
    assert result.finished[0].error == (ProductCode.LENGTH if reason is EndReason.LENGTH else None)


@pytest.mark.parametrize(
    ("cut", "reason", "calls"),
    [
        ({}, EndReason.TOOL_CALLS, 1),
        ({"status": "incomplete"}, EndReason.LENGTH, 1),
        ({"status": "incomplete", **FILTERED}, EndReason.CONTENT_FILTER, 1),
    ],
)
def test_a_cut_counts_more_than_a_call(cut: Event, reason: EndReason, calls: int) -> None:
    result = read(message(), text("Hi."), CALL_WITH_ARGUMENTS, completed(**cut))
    assert (result.reason, len(result.calls)) == (reason, calls)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (added("message", "m", role="assistant", status="incomplete"), EndReason.LENGTH),
        (added("message", "m", role="assistant", status="in_progress"), EndReason.STOP),
        (added("message", "m", role="assistant", status="incomplete", phase="commentary"), EndReason.STOP),
        (added("message", "m", role="tool", status="incomplete"), EndReason.STOP),
        (added("reasoning", "m", role="assistant", status="incomplete"), EndReason.STOP),
    ],
)
def test_only_an_incomplete_answer_is_a_cut(item: Event, reason: EndReason) -> None:
    assert read(item, text("Hi."), completed()).reason is reason


def test_a_token_limit_needs_counts() -> None:
    assert read(message(), text("Hi."), completed(), token_limit=TokenLimit(1, 1)).reason is EndReason.STOP
    assert read(message(), text("Hi."), completed(usage={"output_tokens": 5})).reason is EndReason.STOP
    assert TokenLimit(None, 100).is_reached(Usage(None, 100, None)) is False
    assert TokenLimit(None, None).is_reached(Usage(50, 50, None)) is False
    assert TokenLimit(200, 100).is_reached(Usage(60, 40, None)) is True
    assert TokenLimit(200, 101).is_reached(Usage(60, 40, None)) is False


# Limits


def test_text_up_to_the_limit_is_complete_and_one_more_character_is_too_many() -> None:
    for length, is_full in ((10, False), (11, True)):
        result = read(message(), text("x" * length), completed(), max_chars=10)
        assert (len(result.visible), result.reducer.is_full) == (10, is_full)
    allowance = Allowance(3)
    assert [allowance.take("ab"), allowance.take("cd"), allowance.take("e"), allowance.is_spent] == ["ab", "c", "", True]


def test_all_text_counts_towards_one_limit() -> None:
    events = [added("reasoning", "r"), text("x" * 6, "r", "reasoning_text.delta"), message(), text("y" * 6), completed()]
    result = read(*events, max_chars=10)
    assert (result.hidden, result.visible, result.reason) == ("x" * 6, "y" * 4, EndReason.LENGTH)


def test_text_of_an_item_that_a_full_sample_names_too_late_is_kept_for_staff() -> None:
    named = {"type": "message", "id": "m", "role": "assistant"}
    result = read(text("abc"), message("n"), text("y" * 20, "n"), completed(named), max_chars=10)
    assert (result.visible, result.hidden) == ("y" * 7, "abc")


@pytest.mark.parametrize(("count", "is_full"), [(1000, False), (1001, True)])
def test_a_thousand_items_are_allowed(count: int, is_full: bool) -> None:
    assert fed(*(added("reasoning", f"r{number}") for number in range(count))).is_full is is_full


def test_only_a_thousand_items_of_the_last_event_are_read() -> None:
    items = [{"type": "reasoning", "id": f"r{number}"} for number in range(1200)]
    reducer = fed(completed(*items))
    assert (len(reducer.items), reducer.is_full) == (1000, False)


def test_streamed_arguments_beyond_the_limit_are_cut() -> None:
    deltas = [{"type": "response.function_call_arguments.delta", "item_id": "c", "delta": '{"a":'} for _ in range(3)]
    result = read(added("function_call", "c", call_id="c1", name="look"), *deltas, max_chars=12)
    assert (result.reason, result.finished[0].frame.body, result.calls) == (EndReason.LENGTH, '{"a":{"a":{"', [])


@pytest.mark.parametrize(
    ("streams", "repeats", "max_chars", "reason"),
    [
        (True, True, 8, EndReason.TOOL_CALLS),
        (False, True, 8, EndReason.TOOL_CALLS),
        (False, True, 7, EndReason.LENGTH),
        (False, False, 7, EndReason.LENGTH),
        (True, False, 7, EndReason.LENGTH),
    ],
)
def test_arguments_count_once_however_often_a_server_repeats_them(streams: bool, repeats: bool, max_chars: int, reason: EndReason) -> None:
    delta = {"type": "response.function_call_arguments.delta", "item_id": "c", "delta": '{"a": 1}'}
    events = [added("function_call", "c", call_id="c1", name="look"), *([delta] if streams else []), CALL_WITH_ARGUMENTS]
    assert (
        read(
            *events, completed(*([CALL_WITH_ARGUMENTS["item"]] if repeats else [])), max_chars=max_chars, separation=Separation.STRUCTURED
        ).reason
        is reason
    )


def test_arguments_that_grow_after_they_were_streamed_count_by_what_is_new() -> None:
    delta = {"type": "response.function_call_arguments.delta", "item_id": "c", "delta": '{"a"'}
    events = [added("function_call", "c", call_id="c1", name="look"), delta, CALL_WITH_ARGUMENTS, completed()]
    assert [read(*events, max_chars=limit).reducer.is_full for limit in (8, 7)] == [False, True]


# Calls


def test_the_name_and_arguments_of_a_call_may_come_in_any_of_its_events() -> None:
    begun = added("function_call", "c", call_id="c1", arguments='{"a": 1}')
    named = {"type": "response.function_call_arguments.done", "item_id": "c", "name": "look"}
    assert read(begun, named, completed()).calls == [("c1", '{"a": 1}')]
    whole = {"type": "response.function_call_arguments.done", "item_id": "c", "arguments": '{"b": 2}'}
    assert read(added("function_call", "c", call_id="c1", name="look"), whole, completed()).calls == [("c1", '{"b": 2}')]


def test_text_before_a_call_in_the_order_of_items_is_shown_although_it_comes_later() -> None:
    result = read(message(), CALL_WITH_ARGUMENTS, text("I look."), completed())
    assert (result.visible, result.calls) == ("I look.", [("c1", '{"a": 1}')])


def test_reasoning_and_unknown_text_after_a_call_are_flagged() -> None:
    events = [CALL_WITH_ARGUMENTS, added("reasoning", "r"), text("a", "r", "reasoning_summary_text.delta"), text("b", "new"), completed()]
    result = read(*events, summaries_are_trusted=True)
    late = [(finished.frame.header, finished.frame.body, finished.error) for finished in result.finished[:-1]]
    assert late == [(BROKEN, "a", Code.CALL_SCHEMA), (BROKEN, "b", Code.CALL_SCHEMA)]
    beside = read(CALL_WITH_ARGUMENTS, message(), text("hm", kind="reasoning_text.delta"), completed()).finished[0]
    assert (beside.frame.header, beside.error) == (BROKEN, Code.CALL_SCHEMA)


# What only staff can read


def test_an_item_of_the_server_is_stored_once_and_up_to_a_limit() -> None:
    item = {"id": "w", "code": "x" * 10_000, "encrypted_content": SECRET}
    events = [added("code_interpreter_call", **_named(item)), done("code_interpreter_call", **_named(item))]
    result = read(*events, completed({"type": "code_interpreter_call", **item}))
    assert [(finished.frame.header, len(finished.frame.body), finished.error) for finished in result.finished] == [(BROKEN, 4000, None)]
    assert result.reducer.oddities == {"other item": 1}


def _named(item: Event) -> Event:
    return {"item_id": item["id"], **{name: value for name, value in item.items() if name != "id"}}
