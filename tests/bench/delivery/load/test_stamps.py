"""Timestamps as words, and how new ones are found in the text that a page receives."""

from __future__ import annotations

import random

import pytest

from tests.bench.delivery.load.stamps import LENGTH, TICKS, WordFinder, tick_of, word


@pytest.mark.parametrize("tick", [0, 1, 61, 62, TICKS - 1, TICKS, 5 * TICKS + 4711])
def test_a_word_tells_its_tick(tick: int) -> None:
    assert len(word(tick)) == LENGTH
    assert tick_of(word(tick), near=tick) == tick
    assert tick_of(word(tick), near=tick + 9_999) == tick


def test_text_that_comes_again_is_not_counted_again() -> None:
    finder = WordFinder(started=100)
    one, two, three = (word(tick) for tick in (110, 120, 130))
    assert finder.feed(f"<p>{one}</p>", 140) == [110]
    assert finder.feed(f"<p>{one} <strong>{two}</strong></p>", 140) == [120]
    assert finder.feed(f"<p>{one} <strong>{two}</strong> {three}.</p>", 140) == [130]


def test_what_stands_in_tags_is_no_word() -> None:
    finder = WordFinder(started=100)
    inside, shown = word(120), word(130)
    assert finder.feed(f'<p class="{inside}">{shown}</p>', 140) == [130]


def test_what_is_older_than_the_question_or_from_the_future_is_no_word() -> None:
    finder = WordFinder(started=100)
    assert finder.feed(f"{word(90)} {word(150)} {word(120)}", 140) == [120]


@pytest.mark.parametrize("seed", range(5))
def test_words_are_found_wherever_text_is_cut(seed: int) -> None:
    chance = random.Random(seed)
    ticks = list(range(1_000, 9_000, 77))
    rest, found = " ".join(word(tick) for tick in ticks) + " ", []
    finder = WordFinder(started=999)
    while rest:
        size = chance.randint(1, 9)
        found += finder.feed(rest[:size], 9_000)
        rest = rest[size:]
    assert found == ticks
