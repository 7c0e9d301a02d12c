"""Which frames a model is sent again: the rules of sections 7 and 12.7 of the specification."""

from dataclasses import replace
from itertools import chain

import pytest

from renderer.frames import Frame, Header, Terminator
from renderer.history import frames_for_prompt, questions, turns

ASK = Frame(Header("user"), "question")
THINK = Frame(Header("assistant", channel="analysis"), "thinking")
CALL = Frame(Header("assistant", channel="commentary", recipient="functions.f", call_id="c1", constrain="json"), "{}", Terminator.CALL)
REPLY = Frame(Header("tool", channel="commentary", name="functions.f", call_id="c1", recipient="assistant"), '{"ok":true}')
HIDDEN_CALL = Frame(Header("assistant", channel="analysis", recipient="python", call_id="c2"), "1+1", Terminator.CALL)
HIDDEN_REPLY = Frame(Header("tool", channel="analysis", name="python", call_id="c2", recipient="assistant"), "2")
PLAN = Frame(Header("assistant", channel="commentary", intent="preamble"), "plan")
ANSWER = Frame(Header("assistant", channel="final"), "answer", Terminator.RETURN)
ANSWER_AGAIN = Frame(Header("assistant", channel="final"), "answer")


@pytest.mark.parametrize(
    "header",
    [
        Header("assistant", "final", intent="status"),
        Header("assistant", "commentary", intent="status"),
        Header("assistant", "final", intent="debug"),
        Header("user", intent="debug"),
        Header("assistant", "commentary", name="tool_activity", intent="preamble"),
        Header("assistant", "commentary", name="reasoning_summary"),
    ],
)
def test_status_lines_debug_frames_and_lines_of_the_product_are_not_sent(header: Header) -> None:
    assert frames_for_prompt([ASK, THINK, Frame(header, "text")]) == (ASK, THINK)


@pytest.mark.parametrize(
    "header",
    [
        Header("user", "final"),
        Header("assistant", "final", intent="preamble"),
        Header("assistant", "final", "functions.f", "c9"),
        Header("assistant", "commentary"),
    ],
)
def test_only_an_answer_ends_what_analysis_is_for(header: Header) -> None:
    frame = Frame(header, "text")
    assert frames_for_prompt([ASK, THINK, frame]) == (ASK, THINK, frame)
    without_channel = Frame(Header("assistant"), "text")
    assert frames_for_prompt([ASK, THINK, without_channel]) == (ASK, without_channel)


def test_a_name_of_the_product_in_a_persons_frame_means_nothing() -> None:
    asked = Frame(Header("user", name="reasoning_summary"), "question")
    assert frames_for_prompt([asked, ANSWER]) == (asked, ANSWER_AGAIN)


DOCUMENT = Frame(Header("user", name="document", content_type="text"), "file")


@pytest.mark.parametrize(
    ("before", "parts"),
    [
        ([], []),
        ([ANSWER, PLAN], []),
        ([], [[ASK, PLAN, ANSWER]]),
        ([ANSWER], [[ASK, THINK, ANSWER], [ASK, ANSWER]]),
        ([], [[ASK], [ASK]]),
        ([PLAN], [[DOCUMENT, DOCUMENT, ASK, ANSWER], [DOCUMENT, ASK]]),
        ([], [[ASK, CALL, REPLY, ANSWER], [ASK, CALL, REPLY]]),
        ([REPLY], [[ASK, REPLY]]),
        ([CALL, REPLY], [[ASK]]),
    ],
)
def test_a_turn_is_a_question_with_its_documents_and_everything_up_to_the_next(before: list[Frame], parts: list[list[Frame]]) -> None:
    assert turns([*before, *chain(*parts)]) == (before, parts)


def test_a_call_and_its_reply_are_never_separated() -> None:
    assert turns([ASK, CALL, ASK, ANSWER, ASK, REPLY, ASK]) == ([], [[ASK, CALL, ASK, ANSWER, ASK, REPLY], [ASK]])
    assert turns([ASK, ASK, CALL, ASK, REPLY]) == ([], [[ASK], [ASK, CALL, ASK, REPLY]])
    assert turns([PLAN, CALL, ASK, REPLY, ASK]) == ([], [[PLAN, CALL, ASK, REPLY], [ASK]]), "then even the beginning can be left out"


def test_a_server_may_use_the_id_of_an_answered_call_again() -> None:
    other = Frame(replace(CALL.header, recipient="functions.other"), "{}", Terminator.CALL)
    its_reply = Frame(replace(REPLY.header, name="functions.other"), "ok")
    assert frames_for_prompt([ASK, CALL, REPLY, other, its_reply]) == (ASK, CALL, REPLY, other, its_reply)
    assert frames_for_prompt([ASK, CALL, other, REPLY]) == (ASK, CALL, REPLY), "not while it waits"


@pytest.mark.parametrize("calls", [(CALL, HIDDEN_CALL), (HIDDEN_CALL, CALL)])
def test_turns_with_several_open_calls_stay_one_until_the_last_reply(calls: tuple[Frame, Frame]) -> None:
    frames = [ASK, calls[0], ASK, calls[1], ASK, REPLY, ASK, HIDDEN_REPLY]
    assert turns([ASK, *frames, ASK]) == ([], [[ASK], frames, [ASK]])


def test_only_the_first_reply_to_a_call_belongs_to_it() -> None:
    assert turns([ASK, CALL, REPLY, ASK, REPLY]) == ([], [[ASK, CALL, REPLY], [ASK, REPLY]])
    broken_off = Frame(CALL.header, "{", Terminator.END)
    assert turns([ASK, broken_off, ASK, REPLY]) == ([], [[ASK, broken_off], [ASK, REPLY]]), "not a call"
    asked_later = Frame(Header("user", call_id="c1"), "question")
    assert turns([ASK, CALL, asked_later]) == ([], [[ASK, CALL], [asked_later]]), "not a reply"
    assert turns([ASK, CALL, ASK, CALL]) == ([], [[ASK, CALL], [ASK, CALL]]), "a second call"


def test_questions_are_counted_without_documents() -> None:
    assert questions([DOCUMENT, ASK, THINK, CALL, REPLY, ANSWER, ASK]) == 2
    assert questions([DOCUMENT, ANSWER]) == 0
