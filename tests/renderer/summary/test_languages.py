"""Which languages a text may be in, and whether a line fits them, at the edge of each rule."""

from __future__ import annotations

from collections import Counter

from renderer.summary import languages
from tests.support.cases import for_each


@for_each(
    [
        ({}, {"English"}),
        ({"German": 1}, {"German"}),
        ({"English": 10, "German": 6, "French": 5}, {"English", "German"}),
    ]
)
def test_a_language_with_three_fifths_of_the_most_stop_words_is_expected(counts: dict[str, int], expected: set[str]) -> None:
    assert languages.expected(Counter(counts)) == expected


@for_each(
    [
        ("the", "English", True),
        ("le", "English", False),
        ("the le d", "English", False),
        ("the le d", "French", True),
        ("the", "English German", True),
        ("le mot a mot", "French", True),
        ("le mot khong a", "French", False),
    ]
)
def test_a_line_fits_if_no_language_has_more_of_its_stop_words_than_one_that_is_expected(line: str, around: str, fits: bool) -> None:
    assert languages.fits(line.split(), Counter(dict.fromkeys(around.split(), 10))) is fits


def test_eight_words_without_a_stop_word_are_no_sentence() -> None:
    words = ["compared", "weather", "traffic", "distance", "bicycle", "luggage", "trains", "buses"]
    assert languages.fits(words[:7], Counter()) and not languages.fits(words, Counter())
    assert languages.fits([*words, "the"], Counter())
