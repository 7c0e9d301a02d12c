"""A sentence to which plain words are appended looks the same as if its block were rendered again."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import markup
from tests.support.growing import Blocks

FLUSH_SECONDS = 0.03
WORDS = ["word", " and", " more", ".", " it's", ' "so"', " (a)", " é", " 中文", "1", ":", "  ", " - b"]
MARKUP = [
    "**",
    "*",
    "_",
    "`",
    "[",
    "](",
    ")",
    "http://a.b/c",
    " ",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "# ",
    "> ",
    "<b",
    "<sub>",
    "&am",
    "p;",
    "\\(",
    "\\)",
]
MORE = [
    "$$",
    "$x$",
    " $5",
    "$",
    "|",
    "---",
    "==",
    "~~",
    "!",
    "![",
    "x]:",
    "'s",
    "[^x]",
    "\\",
    "www.a.de",
    "a@b.de",
    "0",
    "   ",
    "```",
    "[x] ",
    "…",
    "</sub>",
    "\u202e",
]


def shown(pieces: list[str]) -> list[str]:
    """The HTML shown after each piece."""
    growing, seen = Blocks(), []
    for piece in pieces:
        growing.feed(piece)
        growing.tail()
        seen.append("".join(block.html for block in growing.html()))
    return seen


def rendered_again(pieces: list[str]) -> list[str]:
    """The same, with the block rendered again for each piece."""
    with markup.nothing_continued():
        return shown(pieces)


pieces = st.lists(st.one_of(st.sampled_from(WORDS), st.sampled_from(WORDS), st.sampled_from(MARKUP + MORE)), max_size=40)


@given(pieces)
def test_an_appended_text_looks_as_if_rendered_again(pieces: list[str]) -> None:
    assert shown(pieces) == rendered_again(pieces)


@given(st.sampled_from(MARKUP + MORE), pieces, st.lists(st.sampled_from(WORDS), max_size=12))
def test_the_same_holds_after_each_kind_of_markup(mark: str, before: list[str], after: list[str]) -> None:
    all_pieces = [*before, "text ", mark, *after]
    assert shown(all_pieces) == rendered_again(all_pieces)


LONG = [
    "".join(f"- **Item {at}**: an item with `code`, and [a link](https://a.b/{at}) behind it.\n" for at in range(8)),
    "A **long** text with *emphasis*, $x^2$, `code` and numbers like 3.14 (in brackets), and so on – " * 6,
    "| Name | Value |\n|---|---|\n" + "".join(f"| row {at} | **bold** {at} |\n" for at in range(12)),
    "- A list that is longer than a line *before* its code, and is rendered `seldom`:\n  ```py\n  a = 1\n  b = 2\n  ```\n- and *so* on",
]


@pytest.mark.parametrize("text", LONG)
def test_a_long_block_is_rendered_a_few_times_a_second_and_shows_nothing_else_meanwhile(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
    usual, growing, times = shown(pieces), Blocks(), list[float]()
    rendered = markup.renderings(monkeypatch)
    for number, piece in enumerate(pieces):
        growing.feed(piece)
        growing.tail(now := number * FLUSH_SECONDS)
        times += [now] * (len(rendered) - len(times))
        assert "".join(block.html for block in growing.html()) in usual[: number + 1], "nothing that is not shown of it otherwise"
    count = len(rendered) - (growing.waits_until is None)
    if growing.waits_until is not None:
        growing.tail(growing.waits_until)
    assert growing.waits_until is None and "".join(block.html for block in growing.html()) == usual[-1]
    steps = pairwise(zip(rendered[:count], times, strict=False))
    pauses = [(then - at, one.least_pause) for (one, at), (other, then) in steps if one.block == other.block]
    assert all(pause + 1e-9 >= least for pause, least in pauses)
    assert max(pause for pause, _ in pauses) >= 0.1, "the premise: it was not rendered for each update"


def final(pieces: list[str]) -> list[str]:
    growing = Blocks()
    for piece in pieces:
        growing.feed(piece)
        growing.tail()
    growing.finish()
    return [block.html for block in growing.html()]


@given(pieces)
def test_plain_words_look_as_if_they_were_parsed(pieces: list[str]) -> None:
    seen = shown(pieces), final(pieces)
    with markup.every_line_parsed():
        assert seen == (shown(pieces), final(pieces))


def test_lines_of_plain_words_are_never_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    markup.never_parse(monkeypatch)
    assert final(["## The", " time\n\n", "Of", " course", ": it's 3", " o'clock.", "\n\n", "Good", " bye"]) == [
        '<div class="block" dir="auto"><h2 dir="auto">The time</h2></div>',
        '<div class="block" dir="auto"><p>Of course: it\'s 3 o\'clock.</p></div>',
        '<div class="block" dir="auto"><p>Good bye</p></div>',
    ]


def test_plain_words_are_not_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = markup.renderings(monkeypatch)
    seen = shown(["The **first", " words", " are", " bold** and", " these", " are", " not.", " Now", " it", " goes", " on"])
    assert (
        seen[-1] == '<div class="block" dir="auto"><p>The <strong>first words are bold</strong> and these are not. Now it goes on</p></div>'
    )
    assert len(rendered) == 3, "of 11 updates"


def test_spaces_at_the_end_wait_for_the_next_word() -> None:
    assert shown(["one two", " three ", "four"])[1:] == [
        '<div class="block" dir="auto"><p>one two three</p></div>',
        '<div class="block" dir="auto"><p>one two three four</p></div>',
    ]
