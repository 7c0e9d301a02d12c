"""A text that was cut off is shown as during streaming: its open markup is closed, both live and after a reload."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from renderer.markup.html import render_blocks
from tests.renderer.markup.samples import FRAGMENTS, answers, mix
from tests.renderer.markup.test_growing import assert_ends_as_the_whole, cut_at_random
from tests.support.cases import example_count, for_each
from tests.support.growing import Blocks


@for_each(
    [
        ("Take the **bicy", "<strong>bicy</strong>", "**"),
        ("Take the **bicycle** or *the bu", "<em>the bu</em>", "*the"),
        ("Take the **", "Take the", "*"),
        ("Take the *", "Take the", "*"),
        ("# The **way", "<strong>way</strong>", "**"),
        ("- one\n- the **other", "<strong>other</strong>", "**"),
        ("> the **other", "<strong>other</strong>", "**"),
        ("| a | b |\n| - | - |\n| **x", "<strong>x</strong>", "**"),
        ("Call `print(1", "<code>print(1</code>", "`"),
        ("See [the page](https://exam", "See the page", "["),
        ("It is ~~wro", "<del>wro</del>", "~~"),
    ]
)
def test_open_markup_at_the_end_is_closed(text: str, shown: str, bare: str) -> None:
    cut, whole = ("".join(block.html for block in render_blocks(text, is_cut=is_cut)) for is_cut in (True, False))
    assert shown in cut.replace("<s>", "<del>").replace("</s>", "</del>") and bare not in cut
    assert bare in whole, "the premise: as a whole text it means what it says"


@for_each(
    [
        "A **bold** word, `code` and [a link](https://example.org).",
        "The **first part.\n\nThe second",
        "The **first part.\n\n[x]: https://example.org",
        "2 * 3 = 6",
        "AT&T and R&D",
        "the sum $$a + b",
        "f(x) = \\(a + b",
        "a picture ![of it",
        "write to <mailto:ada",
        "a lone \\",
        "```\nx = a **",
        "",
    ]
)
def test_complete_markup_and_earlier_blocks_are_unchanged(text: str) -> None:
    assert render_blocks(text, is_cut=True) == render_blocks(text)


@for_each(["Take the **bicy", "# The **way", "- one\n- the *other", "Call `print(1", "> the ~~other", "See [the page](https://exam"])
def test_a_stop_does_not_change_the_shown_text(text: str) -> None:
    blocks = Blocks()
    for letter in text:
        blocks.feed(letter)
        blocks.tail()
    before = blocks.html()
    blocks.finish(is_cut=True)
    assert blocks.html() == before == render_blocks(text, is_cut=True)


@pytest.mark.slow
@for_each([answer.markdown for answer in answers()])
def test_an_answer_that_is_cut_anywhere_is_the_same_after_a_reload(text: str) -> None:
    chance = random.Random(text)
    for _ in range(6):
        assert_ends_as_the_whole(cut_at_random(text[: chance.randrange(len(text) + 1)], chance), is_cut=True)


@pytest.mark.parametrize("seed", range(example_count(10)))
def test_a_random_mix_that_is_cut_is_the_same_after_a_reload(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        text = mix(chance)
        assert_ends_as_the_whole(cut_at_random(text[: chance.randrange(len(text) + 1)], chance), is_cut=True)


@given(st.lists(st.one_of(st.sampled_from([*FRAGMENTS, "\n", "\n\n", " ", "**", "*", "`"]), st.text(max_size=4)), max_size=30))
@example(["[x]", ":", "\n", "http://e.example/x", "\n\n", "[x", "] **a"])
@example(["**a\r", "\n"])
@example(["**a\r"])
@settings(max_examples=example_count(150))
def test_any_pieces_that_are_cut_are_the_same_after_a_reload(pieces: list[str]) -> None:
    assert_ends_as_the_whole(pieces, is_cut=True)
