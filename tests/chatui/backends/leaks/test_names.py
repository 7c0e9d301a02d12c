"""Which names of tags and tokens mark reasoning, calls or the answer, and which are ordinary words."""

from __future__ import annotations

import pytest

from chatui.backends.leaks import patterns as names


@pytest.mark.parametrize(("name", "opening"), [
    ("think", "think"), ("rationale", "rationale"), ("my_thought", "my_thought"), ("seed:think", "seed:think"), ("cot", "cot"),
    *((f"x_{name}", f"x_{name}") for name in ("thinking", "thoughts", "reasoning", "reflection", "monologue", "scratchpad")),
    ("end_of_thinking", "start_of_thinking"), ("unused95", "unused94"), ("tool_call", "tool_call"), ("toolcalls", "toolcalls"),
    ("ns:tool_results", "ns:tool_results"), ("function=look", "function"), ("function", "function"), ("x:invoke", "x:invoke"),
    ("b", None), ("thinker", None), ("rethink", None), ("functions", None), ("invoked", None), ("answer", None), ("details", None),
])  # fmt: skip
def test_a_tag_of_reasoning_or_of_a_call_has_the_name_of_its_opening_tag(name: str, opening: str | None) -> None:
    assert names.tag_of_reasoning(name) == opening
    assert names.may_have_attributes(name) == (opening is not None or name == "details")


@pytest.mark.parametrize(("name", "is_token"), [
    ("start_of_turn", True), ("end_of_turn", True), ("special_7", True), ("unused7", True), ("unused93", True),
    ("unused94", False), ("unused95", False), ("start_of_turns", False), ("unused", False), ("special", False), ("think", False),
])  # fmt: skip
def test_a_token_in_the_form_of_a_tag(name: str, is_token: bool) -> None:
    assert names.is_token(name) is is_token


@pytest.mark.parametrize(("name", "begins", "surrounds"), [
    ("start_response", True, True), ("begin_of_solution", True, True), ("content", True, False), ("content_text", True, False),
    ("assistant_final", True, False), ("response", True, False), ("end_response", False, True), ("end_of_answer", False, True),
    ("start_text", True, True), ("final_exam", False, False), ("my_response", False, False), ("think", False, False),
])  # fmt: skip
def test_tokens_that_begin_or_surround_the_answer(name: str, begins: bool, surrounds: bool) -> None:
    assert (names.begins_answer(name), names.surrounds_answer(name)) == (begins, surrounds)


@pytest.mark.parametrize(("opening", "closing", "shared"), [
    ("begin_of_thought", "end_of_thought", "thought"), ("start_thinking", "end_thinking", "thinking"), ("think", "/think", "think"),
    ("inner_prefix", "inner_suffix", "inner"), ("open:scratchpad", "close:scratchpad", "scratchpad"),
    ("analysis", "analysis_stop", "analysis"),
])  # fmt: skip
def test_opening_and_closing_tokens_around_reasoning_share_a_name(opening: str, closing: str, shared: str) -> None:
    assert names.token_of_reasoning(opening) == names.token_of_reasoning(closing) == shared
    assert (names.is_end_name(opening), names.is_end_name(closing)) == (False, True)


def test_an_ordinary_token_is_not_around_reasoning() -> None:
    assert [names.token_of_reasoning(name) for name in ("end_of_text", "image", "begin_answer")] == ["", "", ""]
    assert not any(map(names.is_end_name, ("weekend", "bending_moment", "endless", "end-x", "stopping", "suffixes", "think/end")))
    assert all(map(names.is_end_name, (":end", "end:", "end_", "x.stop", "/think", "think_close.x")))


def test_only_whole_words_of_a_name_say_that_a_token_begins_or_ends() -> None:
    for name, shared in (
        ("startup_think", "startupthink"),
        ("weekend_think", "weekendthink"),
        ("think.x:y/z", "thinkxyz"),
        ("2end_think", "2think"),
    ):
        assert names.token_of_reasoning(name) == shared


@pytest.mark.parametrize(("name", "is_held"), [
    ("content", True), ("final", True), ("end_answer", True), ("begin_thought", True), ("contents", False), ("b", False),
])  # fmt: skip
def test_only_a_token_with_an_effect_is_held(name: str, is_held: bool) -> None:
    assert names.may_be_token(name) is is_held


@pytest.mark.parametrize(("name", "is_sign"), [
    ("THINK", True), ("REASON", True), ("ANALYSIS", True), ("TOOL_CALLS", True), ("INST", True), ("think", True), ("Thinking", True),
    ("reasoning", True), ("Reason", False), ("analysis", False), ("inst", False), ("tool_calls", False), ("NOTE", False), ("note", False),
])  # fmt: skip
def test_in_square_brackets_only_capitals_or_rare_words_are_signs(name: str, is_sign: bool) -> None:
    assert names.is_bracketed(name) is is_sign
