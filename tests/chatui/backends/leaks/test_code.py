"""What counts as code in growing Markdown: only what Markdown itself takes for code, so that nothing hides behind a stray backtick."""

from __future__ import annotations

from chatui.backends.leaks.prose import Code
from tests.chatui.backends.test_leak_shapes import cuts, guarded
from tests.support.cases import for_each

TAG = "<think>SECRET</think>"


@for_each([
    f"`{TAG}`",
    f"Hi `{TAG}` there",
    f"Hi ``a ` {TAG}`` there",
    f"Hi `a {TAG} b` there",
    f"Hi ( `x` and `{TAG}`)",
    f"```\n{TAG}\n```",
    f"```python\n{TAG}\n```\nHi",
    f"~~~ `x`\n{TAG}\n~~~\nHi",
    f"````\n```\n{TAG}\n````\nHi",
    f"```\n~~~\n{TAG}\n``` \nHi",
    f"```\n``` x\n{TAG}\n```\nHi",
    f"> ```\n> {TAG}\n> ```\nHi",
    f"- ```\n  {TAG}\n  ```\nHi",
    f"1. ```\n{TAG}\n```\nHi",
    f"Hi\n\n    {TAG}\n\nHi",
    f"Hi\n\n\t{TAG}\n    {TAG}\n\nHi",
    f"Hi\n\n    a\n\n    {TAG}\nHi",
    f"Hi\n\n    {TAG}",
    f"Hi\n\n    {TAG}\n    <think>{TAG}</think>",
    "Hi\n\n    <think>x <|end|></think>\n\nHi",
    f"Hi\n\n{' ' * 70}{TAG}\nHi",
    f"Hi\n\n{' ' * 61}x\n    {TAG}\nHi",
    f"```\n- x\n```\n\n    {TAG}\nHi",
    f"- Hi\n\n>Hi\n\n    {TAG}\nHi",
    f"- Hi\n\nHi\n\n    {TAG}\nHi",
    f"Hi `<think>{'x' * 393}` so",
    f"Hi\n\n\n    {TAG}\nHi",
    f"```\n<think>{'x ' * 220}</think>\n```\nHi",
    f"Hi\n\n    <think>{'x ' * 220}</think>\n\nHi",
    "Hi\n\n    <think>x\n\n    y</think>\n\nHi",
    f"Hi\nSo `{TAG}` it\nis `{TAG}`.",
    f"Hi\n\n```\na\n\n```\n    {TAG}\nHi",
    f"Hi\n```\na `x\n```\nHi `{TAG}` so",
])  # fmt: skip
def test_tags_in_code_are_shown(text: str) -> None:
    assert [guarded(pieces) for pieces in cuts(text)] == [text] * 4
    assert guarded([text], whole=True) == text


@for_each([
    f"Hi ` {TAG}`",
    f"Hi \\`{TAG}`",
    f"Hi \\`{TAG} and `x`",
    f"The `User`s {TAG} and `x`",
    f"The `User`s {TAG} and `x",
    f"Hi `{TAG}``",
    f"Hi `a\n{TAG}`",
    f"Hi `{TAG}\nHi ` so",
    f"Hi `a `{TAG}` b",
    f"``` a ` b\n{TAG}",
    f"Hi\n    {TAG}\nHi",
    f"- Hi\n\n    {TAG}\nHi",
    f"Hi\n\n>     {TAG}\nHi",
    f"Hi\n\n   {TAG}\nHi",
    f"Hi\n\n-   {TAG}\nHi",
    f"    {TAG}\nHi",
    f"\n\n    {TAG}\nHi",
    f"```\na\n```\n{TAG}\nHi",
    f"Hi\n\n    a\nHi\n    {TAG}\nHi",
    f"- The tag `<think> so\n\n    {TAG}\nHi",
    "Hi `<think> tag ``SECRET </think>Y`` so\nHi",
    f"Hi\n\n    a\n```\nx\n```\n    {TAG}\nHi",
    f"Hi\n\n```\nx\n```\n    {TAG}\nHi",
    f"Hi\n\n    a\n{'>' * 61}{TAG}\nHi",
    f"Hi\n\n    a\n{'- ' * 40}{TAG}\nHi",
    f"{' ' * 61}```\n{TAG}\n```\nHi",
    f"```\na\n\n    b\n```\n    {TAG}\nHi",
    f"```\na\n\n~~~\n```\n    {TAG}\nHi",
    f"- Hi\n```\nx\n```\n\n    {TAG}\nHi",
    f"- Hi\n  Hi\n\n    {TAG}\nHi",
    f"- Hi\nHi\n\n    {TAG}\nHi",
    f"- Hi\n\n  Hi\n\n    {TAG}\nHi",
    f"Hi `<think>{'SECRET' * 70}` so",
    f"Hi `<think>SECRET{'x' * 388}` so",
])  # fmt: skip
def test_tags_outside_code_are_hidden(text: str) -> None:
    assert [("SECRET" in guarded(pieces)) for pieces in cuts(text)] == [False] * 4
    assert "SECRET" not in guarded([text], whole=True)


@for_each([
    f"Hi `{TAG}",
    f"Hi\n\n    {TAG}\n    <think>SECRET",
    f"Hi `{TAG}\nSo `{TAG}\n{TAG}",
    f"Hi\n```\n{TAG}\nmore",
    f"Hi\n~~~\n{TAG}\n```\nmore",
    "Hi\n\n    <think>SECRET\n",
    "Hi\n\n    <think>SECRET\nmore</think>",
    "SECRET\n\n    </think>Hi<think>\nmore",
    "Hi\n\n    <think>SECRET</reasoning>\nmore",
    "Hi\n\n    <think>SECRET``x",
    "Hi\n\n    <think>SECRET`x",
    "Hi\n\n    `\n    <think>SECRET ``x",
    "Hi\n```\n<think>SECRET``x",
    f"Hi\n```\nThe tag <think> is it.\n    {TAG}\n\n",
    f"Hi\n\n    The tag <think> is it.\n    {TAG}\n\n",
    f"Hi\n```\nThe tag <think> is it.\n~~~\n{TAG}\n~~~\n",
])  # fmt: skip
def test_code_that_never_closes_is_none(text: str) -> None:
    assert [("SECRET" in guarded(pieces)) for pieces in cuts(text)] == [False] * 4


def place_after(text: str) -> str:
    """The kind of code at the end of a text of one line."""
    code = Code()
    at = code.head(text, 0, is_end=True) or 0
    while at < len(text):
        at = (code.backticks(text, at, is_end=True) or at) if text[at] == "`" else at + 1
    return code.place


@for_each([
    ("`a", "span"), ("`a`", ""), ("``a`", "span"), ("``a``", ""), ("(`a`", ""), ("` a", ""), ("a `", ""), ("\\`a", ""), ("`` a", "span"),
    ("`a `b", "span"), ("`a (`b", "span"), ("`a`b", ""), ("`a ` b", ""), ("``a ``b", ""), ("```", "fence"), ("```a", "fence"),
    ("```a`", "span"), ("```a```", ""), ("~~~a`", "fence"), ("    a", ""), ("- `a", "span"), ("`a~`b", ""),
    ("`a ``b` c", ""), ("`a ([`b", "span"), ("`a {`b", "span"),
])  # fmt: skip
def test_the_place_after_a_line(text: str, place: str) -> None:
    assert place_after(text) == place


@for_each([
    ("", None), ("`", None), ("``", None), ("```", None), ("```py", None), ("- ", None), ("1.", None), ("> ", None), ("   ", None),
    ("~", None), ("a", 0), ("  a", 2), ("- a", 2), ("```py\n", 3), ("~~~\n", 3), ("```" + "x" * 120, 3), ("```" + "x" * 119, None),
    ("```a`", 0), (" " * 60, None), (" " * 61, 60), (" " * 60 + "```", None), (" " * 60 + "```\n", 63), (">" * 61, 60),
])  # fmt: skip
def test_the_beginning_of_a_line_is_held_until_it_is_certain(text: str, past: int | None) -> None:
    assert Code().head(text, 0, is_end=False) == past
    assert Code().head(text, 0, is_end=True) is not None


@for_each([("`", None), ("`a", None), ("`ab", 1), ("``a", None), ("``ab", 2), ("`" * 79, None), ("`" * 80, 80), ("`" * 90, 80)])
def test_a_run_of_backticks_is_held_until_two_characters_follow(text: str, past: int | None) -> None:
    assert Code().backticks(text, 0, is_end=False) == past
    assert Code().backticks(text, 0, is_end=True) is not None
    assert Code().backticks(f"{'x' * 200}{text}", 200, is_end=False) == (past and past + 200)
