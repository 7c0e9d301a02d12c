"""The frames that several messages of a Responses stream, and the text between them, become."""

from __future__ import annotations

from typing import Any

import pytest

from chatui.backends.responses.reducer import Reducer
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
    assert (result.visible, result.hidden) == ("", "One.anal")
    assert [finished.error for finished in result.finished] == [ProductCode.WITHHELD, error]


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


def test_there_is_one_gap_between_two_messages_however_they_arrive() -> None:
    pieces = [text(piece, "n") for piece in ("T", "w", "o.")]
    assert read(message(), text("One."), ended(), message("n"), *pieces, completed()).visible == "One.\n\nTwo."


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


def test_text_of_an_earlier_message_is_hidden_without_saying_that_it_is_missing() -> None:
    result = read(message(), text("One."), message("n"), text("Two.", "n"), text("late"), completed())
    assert [(finished.frame.body, finished.error) for finished in result.finished] == [("One.\n\nTwo.", None), ("late", Code.PARSE_HEADER)]


def test_each_message_of_raw_output_in_one_answer_has_its_own_frame() -> None:
    raw = "<|channel|>final<|message|>One.<|end|><|start|>assistant<|channel|>final<|message|>Two.<|return|>"
    assert read(message(), text(raw), completed()).pairs == [("final", "One."), ("final", "Two.")]


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
