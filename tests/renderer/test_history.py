"""Which frames a model is sent again: the rules of sections 7 and 12.7 of the specification."""

from __future__ import annotations

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


def test_analysis_before_the_last_final_is_dropped_and_the_answer_stays() -> None:
    assert frames_for_prompt([ASK, THINK, ANSWER, ASK]) == (ASK, ANSWER_AGAIN, ASK)


def test_analysis_of_every_earlier_answer_is_dropped_not_only_of_the_first() -> None:
    assert frames_for_prompt([ASK, THINK, ANSWER, ASK, THINK, ANSWER, ASK]) == (ASK, ANSWER_AGAIN, ASK, ANSWER_AGAIN, ASK)


def test_calls_on_commentary_stay_with_their_replies() -> None:
    assert frames_for_prompt([ASK, THINK, CALL, REPLY, ANSWER, ASK]) == (ASK, CALL, REPLY, ANSWER_AGAIN, ASK)


def test_calls_on_analysis_are_dropped_with_their_replies() -> None:
    assert frames_for_prompt([ASK, HIDDEN_CALL, HIDDEN_REPLY, ANSWER, ASK]) == (ASK, ANSWER_AGAIN, ASK)


def test_analysis_of_an_unfinished_tool_loop_stays() -> None:
    assert frames_for_prompt([ASK, THINK, ANSWER, ASK, THINK, CALL, REPLY]) == (ASK, ANSWER_AGAIN, ASK, THINK, CALL, REPLY)


def test_a_call_without_reply_and_a_reply_without_call_are_left_out() -> None:
    assert frames_for_prompt([ASK, CALL, ANSWER, ASK]) == (ASK, ANSWER_AGAIN, ASK)
    assert frames_for_prompt([ASK, REPLY, ANSWER, ASK]) == (ASK, ANSWER_AGAIN, ASK)


def test_preambles_stay() -> None:
    assert frames_for_prompt([ASK, PLAN, ANSWER, ASK]) == (ASK, PLAN, ANSWER_AGAIN, ASK)


def test_frames_of_the_product_and_debug_frames_are_not_sent() -> None:
    summary = Frame(Header("assistant", channel="commentary", intent="preamble", name="reasoning_summary"), "Compared routes")
    broken = Frame(Header("assistant", channel="analysis", intent="debug"), "garbage")
    assert frames_for_prompt([ASK, summary, broken]) == (ASK,)


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


def test_a_call_and_a_reply_without_an_id_are_no_pair() -> None:
    call, reply = Frame(replace(CALL.header, call_id=None), "{}", Terminator.CALL), Frame(replace(REPLY.header, call_id=None), "{}")
    assert frames_for_prompt([ASK, call, reply]) == (ASK,)
    assert frames_for_prompt([ASK, CALL, replace(REPLY, header=replace(REPLY.header, call_id="c3"))]) == (ASK,)


def test_a_name_of_the_product_in_a_persons_frame_means_nothing() -> None:
    asked = Frame(Header("user", name="reasoning_summary"), "question")
    assert frames_for_prompt([asked, ANSWER]) == (asked, ANSWER_AGAIN)


def test_a_frame_that_was_left_out_once_stays_left_out() -> None:
    frames = [ASK, THINK, PLAN, CALL, REPLY, HIDDEN_CALL, HIDDEN_REPLY, ANSWER, ASK, THINK, HIDDEN_CALL, HIDDEN_REPLY]
    once = frames_for_prompt(frames)
    assert once == (ASK, PLAN, CALL, REPLY, ANSWER_AGAIN, ASK, THINK, HIDDEN_CALL, HIDDEN_REPLY)
    assert frames_for_prompt(once) == once


def test_a_commentary_call_whose_reply_is_on_analysis_is_dropped_with_it() -> None:
    crossed = Frame(Header("tool", channel="analysis", name="functions.f", call_id="c1", recipient="assistant"), "{}")
    assert frames_for_prompt([ASK, CALL, crossed, ANSWER, ASK]) == (ASK, ANSWER_AGAIN, ASK)


def test_analysis_after_a_turn_that_was_stopped_stays_until_a_final_is_issued() -> None:
    assert frames_for_prompt([ASK, THINK, ASK]) == (ASK, THINK, ASK)
    assert frames_for_prompt([ASK, THINK, ASK, ANSWER]) == (ASK, ASK, ANSWER_AGAIN)


def test_any_return_becomes_an_end_and_any_call_stays_one() -> None:
    sent = frames_for_prompt([ASK, CALL, REPLY, ANSWER])
    assert [frame.terminator for frame in sent] == [Terminator.END, Terminator.CALL, Terminator.END, Terminator.END]


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
