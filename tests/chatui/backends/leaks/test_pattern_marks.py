"""The forms of each sign of raw output: every character, space and number that its pattern allows, and those that it does not."""

from __future__ import annotations

from tests.chatui.backends.leaks.test_spans import judged
from tests.support.cases import for_each

ZERO = "\u200b"
BACKSLASHES = "\\" * 8


def is_sign(sign: str) -> bool:
    """Whether everything after the sign is hidden, however it arrives; else all is shown."""
    result, text = judged(f"Hi.{sign}x"), f"Hi.{sign}x"
    assert result in (text, f"Hi.{{!{sign}x}}", f"Hi.#{{!{sign}x}}"), result
    return result != text


@for_each([
    *(f"<|a{character}b|>" for character in (*".:/|-_1é", ZERO)),
    *("<|im_start>", "<|/end|>", "<| end |>", "<|END|>", f"<|{'a' * 60}|>", "<end|>", "< end |>", "</end|>", "<|start|"),
    *("<| start |", "<|START|"),
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
    assert judged(f"x{sign}Hi") == f"x#{{!{sign}}}Hi"


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
    assert judged(f"x{closing}Hi") == f"x#{{!{closing}}}Hi"


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
    assert judged(f"x<channel|>{after}.") == f"x#{{!<channel|>}}{after}."
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
