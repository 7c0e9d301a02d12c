"""English and German words are recognized with and without endings; words of other alphabets without their last letter or two."""

from __future__ import annotations

import pytest

from renderer.summary import endings


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("comparing", "compare"),
        ("running", "run"),
        ("stories", "story"),
        ("readiness", "ready"),
        ("readers", "reader"),
        ("vergleichenden", "vergleich"),
        ("gerechnet", "rechn"),
        ("числами", "числа"),
    ],
)
def test_a_word_is_a_form_of_its_base(word: str, base: str) -> None:
    assert {word, base} <= endings.forms(word)


@pytest.mark.parametrize(("word", "rest"), [("sing", "s"), ("tress", "tr"), ("sten", "st"), ("ober", "ob")])
def test_a_word_is_not_a_form_of_a_stem_that_is_too_short(word: str, rest: str) -> None:
    assert rest not in endings.forms(word)
