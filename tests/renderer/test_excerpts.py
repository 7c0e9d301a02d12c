"""An excerpt: about so many characters around the first match, with every match marked."""

import re

import pytest

from renderer.gate import ExcerptPiece, VisibleText, excerpt


def shown(text: str, word: str = "", length: int = 40) -> str:
    """The excerpt of ``text`` as one text, with brackets around the matches of ``word``."""
    hits = [match.span() for match in re.finditer(re.escape(word), text)] if word else []
    pieces = excerpt(VisibleText(text), hits, length)
    assert all(isinstance(piece.text, VisibleText) and piece.text for piece in pieces)
    return "".join(f"[{piece.text}]" if piece.is_hit else piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("short", "short"),
        ("a" * 40, "a" * 40),
        ("a" * 41, "a" * 40 + "…"),
        ("the hen and the hen", "the [hen] and the [hen]"),
        ("hen", "[hen]"),
        ("a" * 20 + "hen" + "b" * 17, "a" * 20 + "[hen]" + "b" * 17),
        ("a" * 20 + "hen" + "b" * 18, "a" * 20 + "[hen]" + "b" * 17 + "…"),
        ("a" * 21 + "hen" + "b" * 30, "…" + "a" * 10 + "[hen]" + "b" * 27 + "…"),
        ("a" * 21 + "hen" + "b" * 27, "…" + "a" * 10 + "[hen]" + "b" * 27),
    ],
)
def test_an_excerpt_begins_a_quarter_before_a_match_in_the_second_half_and_else_at_the_beginning(text: str, expected: str) -> None:
    assert shown(text, "hen") == expected


def test_an_excerpt_begins_with_a_whole_word_if_one_begins_within_its_length() -> None:
    assert shown("one two three four five six seven hen", "hen") == "…six seven [hen]"
    assert shown("x " + "a" * 39 + "hen", "hen") == "…" + "a" * 39 + "[hen]", "the space is 40 before the match"
    assert shown("x " + "a" * 40 + "hen", "hen") == "…" + "a" * 10 + "[hen]", "the only space is too far"
    assert shown(" " + "a" * 30 + "hen", "hen") == "…" + "a" * 30 + "[hen]", "the space is the first character"


def test_the_first_match_is_shown_in_whole_however_long_it_is() -> None:
    assert shown("one two three four five six " + "h" * 99 + "aaa", "h" * 99) == "…four five six [" + "h" * 99 + "]…"
    assert shown("h" * 99 + "aaa", "h" * 99) == "[" + "h" * 99 + "]…"


def test_matches_that_begin_behind_the_end_are_not_shown() -> None:
    assert shown("hen" + "a" * 37 + "hen", "hen") == "[hen]" + "a" * 37 + "…"


def test_a_match_across_the_end_is_shown_in_whole_and_nothing_follows_it() -> None:
    assert shown("hen" + "a" * 36 + "hen", "hen") == "[hen]" + "a" * 36 + "[hen]"
    assert shown("hen" + "a" * 36 + "hen...", "hen") == "[hen]" + "a" * 36 + "[hen]…"


def test_an_excerpt_has_two_hundred_characters_unless_told_otherwise() -> None:
    assert excerpt(VisibleText("a" * 300), []) == (
        ExcerptPiece(VisibleText("a" * 200), is_hit=False),
        ExcerptPiece(VisibleText("…"), is_hit=False),
    )
