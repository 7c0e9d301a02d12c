"""The signs of raw output: every form that a pattern allows, where a sign begins and ends in growing text, and when that is decided."""

from __future__ import annotations

import pytest

from chatui.backends.leaks import patterns
from chatui.backends.leaks.patterns import Sign, SignKind, signs_in
from tests.chatui.backends.leaks.test_spans import judged
from tests.support.cases import for_each


@for_each([
    (r"\[THINK\]x\[/THINK\]Hi", r"{\[THINK\]x\[/THINK\]}Hi"),
    (r"Hi.\[TOOL_CALLS\]x", r"Hi.{!\[TOOL_CALLS\]x}"),
    ("[THINK](x)[/THINK]Hi", "{[THINK](x)[/THINK]}Hi"),
    ("[THINK][x][/THINK]Hi", "{[THINK][x][/THINK]}Hi"),
    ("Hi.[THINK]: x[/THINK] So", "Hi.{![THINK]: x[/THINK]} So"),
    ("[thinking]x[/thinking](Hi)", "{[thinking]x[/thinking]}(Hi)"),
    ("[thinking]x[/thinking][1]", "{[thinking]x[/thinking]}[1]"),
    ("[thinking]x[/thinking]: Hi", "{[thinking]x[/thinking]}: Hi"),
    ("[thinking][x] so", "[thinking][x] so"),
    ("Hi. [thinking]: x", "Hi. [thinking]: x"),
])  # fmt: skip
def test_a_link_is_a_word_in_lower_case_that_opens(text: str, result: str) -> None:
    assert judged(text) == judged(text, complete=False) == result


@for_each(["start_of_turn", "end_of_turn", "special_7", "unused7"])
def test_a_token_in_the_form_of_a_tag_hides_what_follows_and_a_closing_tag_of_that_name_does_not(name: str) -> None:
    assert judged(f"Hi.<{name}>x") == f"Hi.{{!<{name}>x}}"
    assert list(signs_in(f"</{name}>")) == []
    assert judged(f"Hi.</{name}>so") == f"Hi.</{name}>so"


def test_a_closing_bracket_in_the_same_form_is_found_with_its_place() -> None:
    assert list(signs_in("a [THINK]b[/THINK] c")) == [Sign(SignKind.OPENING, "[think", 2, 9), Sign(SignKind.CLOSING, "[think", 10, 18)]
    assert list(signs_in("◁think▷b◁/think▷")) == [Sign(SignKind.OPENING, "◁think", 0, 7), Sign(SignKind.CLOSING, "◁think", 8, 16)]


@for_each(
    [
        "<details open class='thinking'>",
        "<details hidden data-x=thought>",
        '<think a="1" b=2 open>',
        "< think >",
        "<think\n a='b' />",
        "<think/>",
    ]
)
def test_a_tag_with_attributes_opens_however_it_arrives(tag: str) -> None:
    end = "</details>" if "details" in tag else "</think>"
    assert judged(f"Hi.{tag}x{end} So") == f"Hi.{{!{tag}x{end}}} So"


@for_each(["<|open|>", "<|open|>thin", "<|close|>response", "<|open|>tool<|sep"])
def test_tokens_of_a_tag_that_never_ends_hide_what_follows_them(begun: str) -> None:
    assert judged(f"Hi.{begun}") == f"Hi.{{!{begun}}}"


@for_each(["Hi.<|open|>", "Hi.<channel|>", "Hi.assistant to=x ", "Hi.[THIN", "Hi.<thin", "Hi <details><summ", "Hi.<think|"])
def test_no_text_is_lost_if_it_ends_in_the_beginning_of_a_sign(text: str) -> None:
    assert "".join(judged(text).split("{!")).replace("#", "").rstrip("}") == text


ZERO = "\u200b"
BACKSLASHES = "\\" * 8


def is_sign(sign: str) -> bool:
    """Whether everything after the sign is hidden, however it arrives; else all is shown."""
    result, text = judged(f"Hi.{sign}x"), f"Hi.{sign}x"
    assert result in (text, f"Hi.{{!{sign}x}}", f"{{!Hi.{sign}x}}", f"{{!Hi.}}{{{sign}}}^x"), result
    return result != text


@for_each([
    *(f"<|a{character}b|>" for character in (*".:/|-_1é", ZERO)),
    *("<|im_start>", "<|/end|>", "<| end |>", "<|END|>", f"<|{'a' * 60}|>", "<end|>", "< end |>", "</end|>", "<|start|"),
    *("<| start |", "<|START|", f"channel|{ZERO}>"),
    *(f"{begin}hannel|>" for begin in ("c", "C")),
    *(f"st{ZERO}art|>", f"<|st{ZERO}art|>", f"<{ZERO * 16}|end|>", f"<|{ZERO * 16}end|>", f"<|end{ZERO * 16}|>", f"<|end|{ZERO * 16}>"),
    *(r"\<|end|\>", r"\<\|end\|\>", BACKSLASHES.join(("", "<", "|end", "|", ">")), r"\<end\|\>"),
    *("&lt;|end|&gt;", r"\u003c|end|\u003e", "\uff1c\uff5cend\uff5c\uff1e"),
])  # fmt: skip
def test_each_form_of_a_special_token_is_one(sign: str) -> None:
    assert is_sign(sign)


@for_each([f"<|{'a' * 61}|>", "<|a b|>", "<|a!|>", "<a|>", "<|a|>", "end|x", "ending|>", "<|ending|", "<||>", "< |end|", "<|end !>"])
def test_other_texts_are_no_special_token(text: str) -> None:
    assert not is_sign(text)


@for_each([
    *("<think a=\"x'y\">", "<think a='x\"y'>", "<    think>"),
    *("<think>", "<  think>", "< think >", "<think  >", "<THINK>", "<think/>", "<think />", "<a:think>", "<a.think>"),
    *("<a-think>", "<a|think>"),
    *("<function=my.f:g-h>", f"<function={'a' * 60}>", f"<{'a' * 57}_cot>", f"<th{ZERO}ink>", f"<{ZERO * 16}think>"),
    f"<think>{ZERO * 16}",
    *(f"{BACKSLASHES}<think{BACKSLASHES}>", r"\<think\>", r"\<think a=1\>"),
    *(f"<think {attribute}>" for attribute in ("a=1", 'a=""', "a=''", 'a = "x y"', "x-y:z='1'", "open", "hidden", "open a=1")),
    *(f"<think a={quote}{'x' * 80}{quote}>" for quote in ("'", '"', "")),
    f"<think{' a=1' * 6}>", "<think a=1  b=2\n c=3>",
])  # fmt: skip
def test_each_form_of_a_tag_is_one(tag: str) -> None:
    assert is_sign(tag)


@for_each([
    *("<     think>", "<think   >", "<thinkx>", "<think open closed>", "<think a>", "<think a=x y>", "<think a=>", "<1think>"),
    *("<.think>", "<think!>"),
    *(f"<think a={quote}{'x' * 81}{quote}>" for quote in ("'", '"', "")),
    *(f"<think a={quote}{inner}{quote}>" for quote in ("'", '"') for inner in ("x<", "x>y", "x\ny")),
    *("<think a=x<y>", "<think a=x'y>", '<think a=x"y>'),
    *(f"<think{' a=1' * 7}>", "<think a='x'y'>", '<think a="x"y">', "<think a='x>", f"<function={'a' * 61}>", "<think=1>"),
    f"<{'a' * 58}_cot>",
])  # fmt: skip
def test_other_texts_are_no_tag(text: str) -> None:
    assert not is_sign(text)


@for_each([
    *("[THINK]", "[ THINK ]", "[think] ", "[\nTHINK]", f"[TH{ZERO}INK]", f"[{ZERO * 16}THINK{ZERO * 16}]", r"\[THINK\]"),
    *(r"\[think\] ", r"[THINK\]"),
    *("[INST]", "[AVAILABLE_TOOLS]", "[unused16]", "[ UNUSED16 ]", "◁think▷", "◁ think ▷", "◁THINK▷"),
    f"◁{ZERO * 16}th{ZERO}ink{ZERO * 16}▷",
])  # fmt: skip
def test_each_form_of_a_bracket_is_one(sign: str) -> None:
    assert is_sign(sign)


@for_each(
    ["[/THINK]", "[ / THINK ]", "[/ think]", "[/thinking]", "◁/think▷", "◁ / think ▷", f"[{ZERO}/{ZERO}THINK]", "[unused17]", r"\[/THINK\]"]
)
def test_each_closing_bracket_withdraws_what_was_before_it(sign: str) -> None:
    assert judged(f"x{sign}Hi") == f"{{!x{sign}}}Hi"


@for_each([
    *("[   THINK]", "[THINK  ]", "[TH]", "[THINKS]", "[Reason] ", "[analysis] ", "[th ink] ", "[1THINK]", "[THINK", "[note] "),
    *("◁thin▷", "◁ok▷"),
    *("◁   think▷", "◁think", "[think]:", "[think](", "[think]["),
])  # fmt: skip
def test_other_texts_in_brackets_are_no_sign(text: str) -> None:
    assert not is_sign(text)


@for_each([
    *(f"assistant{name}" for name in ("analysis", "commentary", "final")),
    *("assistant\nanalysis", "assistant \n\n final", "assistant\n commentary", f"assistant{ZERO * 16}analysis", f"a{ZERO}ssistantfinal"),
    *(f"{name} to=functions.f json " for name in ("assistant", "commentary", "analysis")),
    *("assistantto=f json ", "Commentary to=f json ", "analysis to=f code ", "analysis to=f  {", "analysis to=f{"),
    *("analysis to=f\n{", "analysis to=f JSON{"),
    *("analysis to=f <|constrain|>", f"analysis to=f<{ZERO}|{ZERO}constrain|>", f"analysis to={'f' * 60}{{"),
    *("analysis to=f json.", "commentary\nto=f code "),
])  # fmt: skip
def test_each_form_of_a_stripped_marker_is_one(sign: str) -> None:
    assert is_sign(sign)


@for_each([
    *("assistant analysis", "Assistantanalysis", "assistantAnalysis", "assistants", "assistant to the", "commentary to=f"),
    "analysis to=f jsonx",
    *("analysis to=f codes", "analysis  to=f{", "analysis to={", "analysis to=f;{", f"analysis to={'f' * 61}{{"),
])  # fmt: skip
def test_other_texts_are_no_stripped_marker(text: str) -> None:
    assert not is_sign(text)


@for_each([
    "<|open|>think<|sep|>", "<|open|> think <|sep|>", "<|OPEN|>THINK<|SEP|>", "<|open|>\nthink\n<|sep|>", f"<|open|>th{ZERO}ink<|sep|>",
    f"<|open|>{ZERO * 16} think{ZERO * 4} <{ZERO}|{ZERO}sep{ZERO}|{ZERO}>", r"<|open|>think\<\|sep\|\>", r"\<|open|\>think\<|sep|\>",
])  # fmt: skip
def test_each_form_of_a_tag_of_three_tokens_is_one(opening: str) -> None:
    closing = opening.replace("open", "close").replace("OPEN", "CLOSE")
    assert judged(f"Hi.{opening}x{closing} So") == f"Hi.{{!{opening}x{closing}}} So"
    assert judged(f"x{closing}Hi") == f"{{!x{closing}}}Hi"


@for_each([
    "<|open|>think",
    "<|open|>  think<|sep|>", "<|open|>think x<|sep|>", "<|open|>think|sep|>", "<|open|>tool<|sep|>", f"<|open|>{'a' * 21}<|sep|>",
    "<|open|><|sep|>", "<|open|>think<|end|>",
])  # fmt: skip
def test_tokens_of_a_tag_in_any_other_form_hide_all_that_follows(text: str) -> None:
    assert judged(f"Hi.{text}x") == f"Hi.{{!{text}x}}"


@for_each(["analysis", "commentary", " analysis", "\ncommentary", f"{ZERO * 16}analysis", f"{ZERO * 16} Commentary"])
def test_the_name_of_a_channel_after_its_token_hides_what_follows(name: str) -> None:
    for token in ("<channel|>", "<channel>"):
        assert judged(f"Hi.{token}{name} x") == f"Hi.{{!{token}{name} x}}"


@for_each(["  analysis", "Hi", " Hi", "", "\n\nHi", "analyst"])
def test_a_token_of_gemma_with_another_text_after_it_ends_reasoning(after: str) -> None:
    assert judged(f"x<channel|>{after}.") == f"{{!x<channel|>}}{after}."
    assert judged(f"Hi <channel>{after}. So") == f"Hi <channel>{after}. So", "not a tag of reasoning"


@for_each([
    *(f"<details><summary>{words}</summary>" for words in ("Thinking", "Thoughts", "Thought", "thought process", "Thought for 3 s")),
    *(f"<details>{space}<summary>Thinking</summary>" for space in ("\n", "    ", "\n  ")),
    *(f"<details><summary{attributes}>Thinking</summary>" for attributes in (" class='x'", "\tid=x", f" {'x' * 59}")),
    *(f"<details><summary>{marks}Reasoning</summary>" for marks in ("\U0001f4ad ", "**", "- ", "*" * 12)),
    "<details><summary>Chain of thought</summary>", "<details><summary>Raw reasoning</summary>", "<DETAILS>\n<SUMMARY>Thinking</SUMMARY>",
    "<details class='reasoning'>", "<details open data-kind=think>",
])  # fmt: skip
def test_details_about_reasoning_are_hidden(opening: str) -> None:
    end = "</DETAILS>" if "DETAILS" in opening else "</details>"
    assert judged(f"Hi.{opening}x{end} So") == f"Hi.{{!{opening}x{end}}} So"


@for_each([
    *(f"<details><summary>{words}</summary>" for words in ("More", "My reasoning", "Thoughtful", "Rethinking", "Chain")),
    f"<details><summary>{'*' * 13}Thinking</summary>", "<details><summary>\n<summary>Thinking</summary>",
    *("<details>     <summary>Thinking</summary>", "<details>x<summary>Thinking</summary>"),
    *("<details><summary a\nb>Thinking</summary>", "<details><summary>x Thinking</summary>"),
    f"<details><summary {'x' * 60}>Thinking</summary>",
    *("<details><p>Thinking</p>", "<details>", "<details open>", "<details class=more>", "<details><summary><b>Thinking</b></summary>"),
])  # fmt: skip
def test_other_details_are_shown(opening: str) -> None:
    text = f"Hi.{opening}x</details> So"
    assert judged(text) == text


@for_each([
    *(f"{word}{bar}{end}" for word in ("channel", "start", "message") for bar in ("|", "\\|") for end in (">", "\\>")),
    *(r"\|channel\|\>", r"|start\|\>", rf"cha{ZERO}nnel\|\>", rf"channel{ZERO}\|\>", r"channel\\\|\\>"),
])  # fmt: skip
def test_what_is_left_of_a_token_is_held_while_its_bar_is_escaped(sign: str) -> None:
    # ``judged`` says that nothing depends on the pieces in which it arrives.
    assert judged(f"Hi.{sign}x") == f"Hi.{{!{sign}x}}"
    assert judged(f"Hi {sign[:-1]}") == f"Hi {sign[:-1]}"


@pytest.mark.parametrize(("name", "opening"), [
    ("think", "think"), ("rationale", "rationale"), ("my_thought", "my_thought"), ("seed:think", "seed:think"), ("cot", "cot"),
    *((f"x_{name}", f"x_{name}") for name in ("thinking", "thoughts", "reasoning", "reflection", "monologue", "scratchpad")),
    ("end_of_thinking", "start_of_thinking"), ("unused95", "unused94"), ("tool_call", "tool_call"), ("toolcalls", "toolcalls"),
    ("ns:tool_results", "ns:tool_results"), ("function=look", "function"), ("function", "function"), ("x:invoke", "x:invoke"),
    ("b", None), ("thinker", None), ("rethink", None), ("functions", None), ("invoked", None), ("answer", None), ("details", None),
])  # fmt: skip
def test_a_tag_of_reasoning_or_of_a_call_has_the_name_of_its_opening_tag(name: str, opening: str | None) -> None:
    assert patterns.tag_of_reasoning(name) == opening


@pytest.mark.parametrize(("name", "is_token"), [
    ("start_of_turn", True), ("end_of_turn", True), ("special_7", True), ("unused7", True), ("unused93", True),
    ("unused94", False), ("unused95", False), ("start_of_turns", False), ("unused", False), ("special", False), ("think", False),
])  # fmt: skip
def test_a_token_in_the_form_of_a_tag(name: str, is_token: bool) -> None:
    assert patterns.is_token(name) is is_token


@pytest.mark.parametrize(("name", "begins", "surrounds"), [
    ("start_response", True, True), ("begin_of_solution", True, True), ("content", True, False), ("content_text", True, False),
    ("assistant_final", True, False), ("response", True, False), ("end_response", False, True), ("end_of_answer", False, True),
    ("start_text", True, True), ("final_exam", False, False), ("my_response", False, False), ("think", False, False),
])  # fmt: skip
def test_tokens_that_begin_or_surround_the_answer(name: str, begins: bool, surrounds: bool) -> None:
    assert (patterns.begins_answer(name), patterns.surrounds_answer(name)) == (begins, surrounds)


@pytest.mark.parametrize(("opening", "closing", "shared"), [
    ("begin_of_thought", "end_of_thought", "thought"), ("start_thinking", "end_thinking", "thinking"), ("think", "/think", "think"),
    ("inner_prefix", "inner_suffix", "inner"), ("open:scratchpad", "close:scratchpad", "scratchpad"),
    ("analysis", "analysis_stop", "analysis"),
])  # fmt: skip
def test_opening_and_closing_tokens_around_reasoning_share_a_name(opening: str, closing: str, shared: str) -> None:
    assert patterns.token_of_reasoning(opening) == patterns.token_of_reasoning(closing) == shared
    assert (patterns.is_end_name(opening), patterns.is_end_name(closing)) == (False, True)


def test_an_ordinary_token_is_not_around_reasoning() -> None:
    assert [patterns.token_of_reasoning(name) for name in ("end_of_text", "image", "begin_answer")] == ["", "", ""]
    assert not any(map(patterns.is_end_name, ("weekend", "bending_moment", "endless", "end-x", "stopping", "suffixes", "think/end")))
    assert all(map(patterns.is_end_name, (":end", "end:", "end_", "x.stop", "/think", "think_close.x")))


def test_only_whole_words_of_a_name_say_that_a_token_begins_or_ends() -> None:
    for name, shared in (
        ("startup_think", "startupthink"),
        ("weekend_think", "weekendthink"),
        ("think.x:y/z", "thinkxyz"),
        ("2end_think", "2think"),
    ):
        assert patterns.token_of_reasoning(name) == shared


@pytest.mark.parametrize(("name", "is_sign"), [
    ("THINK", True), ("REASON", True), ("ANALYSIS", True), ("TOOL_CALLS", True), ("INST", True), ("think", True), ("Thinking", True),
    ("reasoning", True), ("Reason", False), ("analysis", False), ("inst", False), ("tool_calls", False), ("NOTE", False), ("note", False),
])  # fmt: skip
def test_in_square_brackets_only_capitals_or_rare_words_are_signs(name: str, is_sign: bool) -> None:
    assert patterns.is_bracketed(name) is is_sign
