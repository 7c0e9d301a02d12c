"""Where a sign begins and ends in growing text, and when more text is needed to decide it."""

from __future__ import annotations

from chatui.backends.leaks.folding import folded
from chatui.backends.leaks.leak_patterns import Kind, Sign, Wait, sign_at, signs_in
from tests.chatui.backends.leaks.test_spans import judged
from tests.support.cases import for_each


def waits(text: str, at: int = 0) -> bool:
    return isinstance(sign_at(folded(text), at, is_end=False), Wait)


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


@for_each(
    [
        "[",
        "[T",
        "[thinkin",
        "[/THIN",
        r"\[THIN",
        "[ / rea",
        "◁",
        "◁thin",
        "◁/thin",
        "[begin final resp",
        "[TOOL_CAL",
        "[inst",
        "[/IN",
        "[\nTHI",
        "[THINK\n",
        "[ \t",
    ]
)
def test_a_bracket_is_held_wherever_it_is_in_the_text(begun: str) -> None:
    for before in ("", "x" * 30, "x" * 200):
        assert waits(before + begun, len(before))


@for_each(["[x", "[1", "[Thank", "[THINK\n\nx", "◁x", "◁think\nx", f"[{' ' * 60}", f"[THINK{' ' * 60}"])
def test_a_bracket_with_another_text_is_not_held(begun: str) -> None:
    assert not waits(begun) and not waits(f"xxx{begun}", 3)


@for_each(
    ["content", "content_text", "final", "assistant_final", "response", "solution", "start_text", "begin_of_answer", "end_of_thought"]
)
def test_a_token_without_its_first_bar_is_held_until_its_last_one(name: str) -> None:
    for begun in (f"<{name}", f"<{name} ", f"<{name} |", f"<{name}|"):
        assert waits(begun), begun
    assert not waits("<contents "), "no token"
    assert judged(f"x<{name} |>Hi") == f"x#{{!<{name} |>}}Hi"


def test_a_closing_bracket_in_the_same_form_is_found_with_its_place() -> None:
    assert list(signs_in("a [THINK]b[/THINK] c")) == [Sign(Kind.OPENING, "[think", 2, 9), Sign(Kind.CLOSING, "[think", 10, 18)]
    assert list(signs_in("◁think▷b◁/think▷")) == [Sign(Kind.OPENING, "◁think", 0, 7), Sign(Kind.CLOSING, "◁think", 8, 16)]


@for_each([
    "<think/", "<think /", "<think \\", "<think a", "<think a=", "<think a = 'b", '<think x:y-z="1', "<think=x", "</think",
    "<details", "<details open", "<details open c\nx", "<think a ", "<think a=1\n b", "<details hidden c=", "<function=f", "<x:invoke a",
    "< think", "<thin", "<q",
    "\\<a.b", "</ think",
])  # fmt: skip
def test_a_tag_is_held_while_its_attributes_arrive(begun: str) -> None:
    assert waits(begun) and not isinstance(sign_at(folded(begun), 0, is_end=True), Wait)


@for_each([
    '<a href="x', "<b class=", "<img ", "<q / ", "<think a b", "<think ?", "<think a<", "<1", "<=", "<>",
    "< 3 is", f"<{'a' * 62}", f"<function={'a' * 61}", f"<think a={'x' * 240}", "<details closed c",
])  # fmt: skip
def test_another_tag_is_not_held(begun: str) -> None:
    assert not waits(begun)


def test_a_tag_is_held_for_at_most_240_characters_and_a_name_for_61() -> None:
    assert waits(f"<think a={'x' * 230}") and not waits(f"<think a={'x' * 231}")
    assert waits(f"<{'a' * 61}") and waits(f"<function={'a' * 60}")


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
    assert waits(begun) and judged(f"Hi.{begun}") == f"Hi.{{!{begun}}}"


@for_each(["Hi.<|open|>", "Hi.<channel|>", "Hi.assistant to=x ", "Hi.[THIN", "Hi.<thin", "Hi <details><summ", "Hi.<think|"])
def test_no_text_is_lost_if_it_ends_in_the_beginning_of_a_sign(text: str) -> None:
    assert "".join(judged(text).split("{!")).replace("#", "").rstrip("}") == text
