"""Harmony as text: which words, signs and white space around a marker make it look quoted, and which do not."""

import pytest

from renderer.errors import Code
from renderer.events import Finished
from renderer.frames import Intent, Terminator
from tests.renderer.harmony.cases import shown_text
from tests.support.harmony import read_completion

A = "<|channel|>analysis<|message|>"
C = "<|channel|>commentary<|message|>"
F = "<|channel|>final<|message|>"
NEXT = "<|end|><|start|>assistant"
PYTHON = "<|channel|>analysis to=python code<|message|>print(1)<|call|>"
SEARCH = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"q": 1}<|call|>'
CUT = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"q": <|call|>'
AGAIN = "<|start|>assistant"

OPENING = ["`", "``", ":", "(", "[", "{", "“", "‘", "«", "„", "「", "『", '"', " '", " ", "\n", "\u3000", "a ` b", 'a " b']
CLOSING = ["`", "``", *",;)]}”’»」』…", "'", "' ", " ", "\n", *".!?:。—", "\u200b", "\u0301"]


def shown(frames: list[Finished]) -> str:
    return shown_text(done.frame for done in frames)


def seen(raw: str) -> str:
    return shown(read_completion(raw, lambda: "c1"))


@pytest.mark.parametrize("sign", OPENING)
@pytest.mark.parametrize("end", ["<|end|>", "<|return|>"])
def test_a_marker_after_an_opening_sign_is_quoted(sign: str, end: str) -> None:
    assert seen(f"{A}They want it{sign}{NEXT}{F}SECRET{end}") == ""
    assert seen(f"{A}They want it.{NEXT}{F}Shown{end}") == "Shown", "the premise"


@pytest.mark.parametrize("sign", CLOSING)
@pytest.mark.parametrize("end", ["<|end|>", "<|return|>"])
def test_a_marker_before_a_closing_sign_is_quoted(sign: str, end: str) -> None:
    assert seen(f"{A}They want it.{NEXT}{F}{sign} is SECRET{end}") == ""


@pytest.mark.parametrize("last", [".", "!", "?", "”", ")", "]", "}", "…", "word", "users'", "`x` fine", '"x"', "’", "-"])
def test_a_thought_that_quotes_nothing_may_end_in_any_other_sign(last: str) -> None:
    assert seen(f"{A}They want {last}{NEXT}{F}Shown<|end|>") == "Shown"


@pytest.mark.parametrize(("first", "expected"), [(PYTHON, "I look."), (SEARCH, "I look."), (CUT, "")])
def test_a_plan_is_hidden_before_two_calls_of_which_the_first_breaks_off(first: str, expected: str) -> None:
    assert seen(f"{A}They want it.{NEXT}{C}I look.{NEXT}{first}{AGAIN}{SEARCH}") == expected


@pytest.mark.parametrize(
    ("between", "expected"), [("<|end|>", "Shown"), ("<|end|>\n", "Shown"), ("<|end|> so ", ""), ("<|end|>\u200b", "")]
)
def test_words_between_messages_make_what_follows_doubtful(between: str, expected: str) -> None:
    assert seen(f"{A}They want it.{between}{AGAIN}{F}Shown<|end|>") == expected
    assert seen(f"{A}They want it.{NEXT}{F}Shown{between}") == expected


@pytest.mark.parametrize(("after", "expected"), [("", "Shown"), (" \n", "Shown"), ("x", ""), ("<|end|>", ""), (f"{AGAIN}{F}", "")])
def test_an_answer_is_the_last_only_if_nothing_is_behind_its_return(after: str, expected: str) -> None:
    assert seen(f"{A}They want it.{NEXT}{F}Shown<|return|>{after}") == expected
    # The reasoning is not read as regular output, so that only the end of the text counts.
    assert seen(f"{A}They want it.<|end|><|end|>{AGAIN}{F}Shown<|return|>{after}") == expected


def test_nothing_is_doubtful_before_the_first_hidden_message() -> None:
    [plan, answer, more] = read_completion(f"{C}I look:{NEXT}{F} one{NEXT}{C}two", lambda: "c1")
    assert [done.error for done in (plan, answer, more)] == [None, None, Code.STREAM_TRUNCATED]
    assert shown([plan, answer, more]) == "I look: onetwo"
    doubtful = read_completion(f"{C}I look.{NEXT}{A}hm{NEXT}{C}SECRET", lambda: "c1")
    assert shown(doubtful) == "I look." and (doubtful[2].frame.header.intent, doubtful[2].error) == (Intent.DEBUG, Code.STREAM_TRUNCATED)


@pytest.mark.parametrize("sign", ['"', "`"])
def test_a_quotation_that_is_open_hides_what_follows_however_many_came_before(sign: str) -> None:
    for signs in range(1, 8):
        thought = f"They want it{f' {sign} so' * signs}."
        assert seen(f"{A}{thought}{NEXT}{F}Shown<|end|>") == ("" if signs % 2 else "Shown"), thought


@pytest.mark.parametrize("end", ["<|return|>", "<|end|>"])
def test_a_call_that_cannot_be_read_ends_as_a_message_and_never_as_an_answer(end: str) -> None:
    [call] = read_completion(f"<|channel|>commentary to=functions.f <|constrain|>json<|message|>nothing{end}", lambda: "c1")
    assert (call.frame.terminator, call.error, call.complete) == (Terminator.END, Code.CALL_SCHEMA, True)


def test_an_answer_that_announces_json_and_is_none_is_an_answer() -> None:
    assert seen(f"{A}They want it.{NEXT}<|channel|>final <|constrain|>json<|message|>Shown<|return|>") == "Shown"


def test_each_pair_of_messages_is_looked_at() -> None:
    plan = f"{A}They want it{{}}{NEXT}{C}I look.{NEXT}{{}}{F}Shown<|end|>"
    assert seen(plan.format(".", "")) == "I look.Shown"
    assert seen(plan.format(":", "")) == ""
    assert seen(f"{A}They want it.{NEXT}{C}I look:{NEXT}{F}SECRET<|end|>") == ""
    assert seen(f"{A}They want it.{NEXT}{C}I look.{NEXT}{F}, SECRET<|end|>") == ""
