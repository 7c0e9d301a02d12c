"""Where a copy of hidden text begins and ends: with visible words around it, in scripts without spaces, over several lines, in a cipher."""

from __future__ import annotations

import string

import pytest

from renderer.summary import copies, disguises
from renderer.summary.check import check
from renderer.summary.reasons import Reason
from tests.renderer.summary.texts import hidden_text, seen_text
from tests.support.cases import for_each

SHORT = ["ax", "by", "co", "do", "el", "fa", "go", "hi", "it", "jo", "ku", "la"]
"""Together they have too few letters for the comparison of letters."""
ANIMALS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay", "kid", "lynx"]
OTHERS = ["owl", "rat", "sow", "yak", "ape", "boa", "cod", "eel"]


def is_copy(line: str, reasoning: str, visible: str) -> tuple[bool, bool]:
    """By the rule for runs, and by the rule for words with others between them."""
    hidden, seen = hidden_text(reasoning), seen_text(visible)
    return copies.is_copy(line, hidden, seen), copies.is_interleaved(disguises.words(line), hidden, seen)


@for_each([" ".join(OTHERS[:count]) for count in range(0, 5, 2)])
def test_words_before_and_behind_a_visible_run_are_a_copy_only_if_five_of_them_are_in_a_hidden_run(around: str) -> None:
    reasoning, visible = " ".join(SHORT), " ".join(SHORT[3:8])
    for first, last in ((3, 8), (3, 10), (1, 8), (1, 10), (2, 9)):
        line = " ".join([around, *SHORT[first:last], *OTHERS[4:], *OTHERS[4:]])
        assert is_copy(line, reasoning, visible) == (False, False), line
        line = " ".join([*OTHERS[4:], *OTHERS[4:], around, *SHORT[first:last]])
        assert is_copy(line, reasoning, visible) == (False, False), line
    for first, last in ((3, 11), (0, 8), (0, 11)):
        assert is_copy(" ".join([around, *SHORT[first:last]]), reasoning, visible) == (True, True)


@pytest.mark.parametrize("first", [0, 3])
def test_a_copy_behind_a_long_visible_run_is_found(first: int) -> None:
    reasoning, visible = " ".join(SHORT), " ".join(SHORT[first : first + 7])
    assert is_copy(" ".join([*OTHERS, *SHORT[first : first + 9]]), reasoning, visible) == (False, False)
    words = [*OTHERS, "up", "up", *SHORT, "my", "no", "of", "pi"]
    reasoning = f"{reasoning} my no of pi"
    assert is_copy(" ".join(words), reasoning, visible) == (True, True)
    assert is_copy(" ".join(words[: len(OTHERS) + 2 + first + 10]), reasoning, visible) == (True, True)
    assert is_copy(" ".join([*words[: len(OTHERS) + 2], *SHORT[first : first + 9], *OTHERS]), reasoning, visible) == (False, False)


def test_visible_words_count_as_hidden_if_their_order_is_not_visible() -> None:
    line, reasoning = " ".join(SHORT[:5]), " ".join(SHORT)
    assert is_copy(line, reasoning, line) == (False, False), "the premise: this order is visible"
    assert is_copy(line, reasoning, " ".join(SHORT[:4])) == (True, True), "four in this order are too few"
    assert is_copy(line, reasoning, " ".join(reversed(SHORT))) == (True, True)
    apart = " ".join(word for pair in zip(SHORT, OTHERS[:5], strict=False) for word in pair)
    assert is_copy(apart, reasoning, line) == (False, True), "with others between them, their order is not that of the visible text"
    assert is_copy(apart, reasoning, apart) == (False, True), "and a reader of the words between them may not know what belongs together"


def test_a_copy_of_a_part_of_each_line_is_found_in_the_last_line() -> None:
    hidden, seen = hidden_text(" ".join(SHORT)), seen_text()
    lines = [f"{OTHERS[at]} {word} {OTHERS[at + 1]}" for at, word in enumerate(SHORT[:5])]
    assert not copies.is_copy_together(lines[:4], hidden, seen)
    assert copies.is_copy_together(lines, hidden, seen)
    assert not copies.is_copy_together([*lines[:3], "Nothing " * 4, *lines[3:]], hidden, seen)


def test_four_others_between_two_words_hide_a_copy_and_three_do_not() -> None:
    reasoning = " ".join(SHORT)
    for at in range(1, 5):
        line = [*OTHERS, *SHORT[:at], *OTHERS[:3], *SHORT[at:5], *OTHERS]
        assert is_copy(" ".join(line), reasoning, "") == (False, True)
        line = [*OTHERS, *SHORT[:at], *OTHERS[:4], *SHORT[at:5], *OTHERS]
        assert is_copy(" ".join(line), reasoning, "") == (False, False)


def test_letters_are_a_copy_however_words_are_divided() -> None:
    letters = "".join([*ANIMALS, *OTHERS])
    hidden, seen = hidden_text(" ".join([*ANIMALS, *OTHERS])), seen_text()
    assert len(letters) >= 39, "the premise: some runs are not at its beginning"
    for begin in range(len(letters) - 31 + 1):
        run = letters[begin : begin + 31]
        assert copies.is_copy(f"{run[:9]} {run[9:17]}. {run[17:]}", hidden, seen), run
        assert not copies.is_copy(f"{run[:9]} {run[9:17]}. {run[17:23]}", hidden, seen), run


def test_letters_and_characters_are_a_copy_if_lines_divide_them() -> None:
    for text in ("".join([*ANIMALS, *OTHERS]), CHINESE):
        hidden, seen = hidden_text(text), seen_text()
        lines = [f"Zum {text[2:20]}"[:22], text[20:40]] if text.isascii() else [text[2:6], text[6:10]]
        assert [copies.is_copy(line, hidden, seen) for line in lines] == [False, False], "the premise: each by itself is too short"
        assert copies.is_copy_together(lines, hidden, seen)
        assert not copies.is_copy_together(lines[::-1], hidden, seen)


CHINESE = "需要比较火车和自行车的时间然后再看看明天早上"
KANA = "ゆっくりあさごはんをたべてからでかけるほうが"
THIRD_CHINESE = "需ゆく要りあ较さご火はん和をた车べて的でか时けら比"
HALF_CHINESE = "ゆ需く要り比あ较さ火ご车は和ん自を行た车べ的"


@pytest.mark.parametrize(
    ("text", "most"), [(CHINESE, 7), (HALF_CHINESE, 7), (THIRD_CHINESE, 9), (KANA, 9)], ids=["Chinese", "half", "a third", "kana"]
)
def test_in_scripts_without_spaces_seven_characters_are_a_copy_and_nine_of_kana(text: str, most: int) -> None:
    hidden, seen, around = hidden_text(text), seen_text(), "権衡比較"
    for begin in range(len(text) - most + 1):
        run = text[begin : begin + most]
        assert copies.is_copy(f"{around}{run}{around}", hidden, seen), run
        assert copies.is_copy(run, hidden, seen), run
        assert not copies.is_copy(f"{around}{run[:-2]}{around}", hidden, seen), run
        assert not copies.is_copy(run, hidden, seen_text(f"{around}{run}{around}")), "it is visible"
        assert copies.is_copy(run, hidden, seen_text(run[:5])), "too little of it is visible"


def test_two_copied_runs_of_kana_at_different_places_are_none_together() -> None:
    hidden, seen = hidden_text(KANA), seen_text()
    assert not copies.is_copy(KANA[:6] + KANA[12:18], hidden, seen)
    assert copies.is_copy(KANA[:8], hidden, seen)


SENTENCE = "the quick brown badger jumps over lazy zebras"


def rotated(text: str, shift: int) -> str:
    letters = string.ascii_lowercase
    return text.translate(str.maketrans(letters, letters[shift:] + letters[:shift]))


@for_each(
    [
        *(rotated(SENTENCE, shift) for shift in range(1, 26)),
        SENTENCE.translate(str.maketrans(string.ascii_lowercase, string.ascii_lowercase[::-1])),
        SENTENCE[::-1],
        " ".join(word[::-1] for word in SENTENCE.split()),
        "th3 qu1ck br0wn b4dg3r jump$ 0v3r l@zy z3br4s",
        " ".join("x".join(word) for word in SENTENCE.split()),
        " ".join("".join(f"x{letter}" for letter in word) for word in SENTENCE.split()),
        *(" ".join(f"{word[letters:]}{word[:letters]}ay" for word in SENTENCE.split()) for letters in (1, 2, 3)),
    ]
)
def test_hidden_text_in_a_simple_cipher_is_found(line: str) -> None:
    hidden = hidden_text(f"I note that {SENTENCE} all day.")
    assert copies.is_encoded(line, hidden, seen_text())
    assert not copies.is_encoded(line, hidden_text("I note nothing of the kind."), seen_text())
    assert not copies.is_encoded(line, hidden, seen_text(SENTENCE)), "the words are visible"


def test_text_that_a_cipher_does_not_change_is_not_encoded() -> None:
    hidden = hidden_text("Now level noon is the civic kayak of Hannah.")
    line = "Level noon is the civic kayak of Hannah"
    assert [word[::-1] for word in ("level", "noon", "civic", "kayak")] == ["level", "noon", "civic", "kayak"], "the premise"
    assert not copies.is_encoded(line, hidden, seen_text())
    assert not copies.is_encoded("Owl: noon level noon then owl rat", hidden_text("noon level noon"), seen_text())
    assert not copies.is_encoded("Owl rat then noon level noon", hidden_text("noon level noon"), seen_text())


@pytest.mark.parametrize("line", ["tac noon kayak", "noon tac kayak", "noon kayak tac"])
def test_one_changed_word_among_three_is_encoded(line: str) -> None:
    hidden, seen = hidden_text("There, cat noon kayak. There, noon cat kayak. There, noon kayak cat."), seen_text()
    assert not copies.is_encoded(line.replace("tac", "cat"), hidden, seen)
    assert copies.is_encoded(line, hidden, seen)
    assert copies.is_encoded(f"The owl of {line} and others", hidden, seen)
    assert not copies.is_encoded(line, hidden, seen_text("Is it a cat?"))


@for_each(
    [
        *(rotated(" ".join(SHORT[at : at + 3]), shift) for at in range(3) for shift in (1, 13, 25)),
        " ".join(SHORT[:3])[::-1],
        " ".join(word[::-1] for word in SHORT[:3]),
    ]
)
def test_three_short_words_in_a_row_in_a_cipher_are_found(line: str) -> None:
    hidden, seen = hidden_text(" ".join(SHORT)), seen_text()
    assert copies.is_encoded(line, hidden, seen)
    assert copies.is_encoded(f"zzzz qqqq {line}", hidden, seen) and copies.is_encoded(f"{line} zzzz qqqq", hidden, seen)
    assert not copies.is_encoded(line.rpartition(" ")[0], hidden, seen)


def test_one_word_of_seven_letters_in_a_cipher_is_no_coincidence_and_one_of_six_is() -> None:
    hidden, seen = hidden_text("The leopard saw a badger and a walrus."), seen_text()
    assert copies.is_encoded("Saw the drapoel there", hidden, seen)
    assert not copies.is_encoded("Saw the regdab there", hidden, seen)
    assert copies.is_encoded("Saw the regdab and surlaw there", hidden, seen)
    assert not copies.is_encoded("Saw the drapoel there", hidden, seen_text("Is it a leopard?"))
    assert not copies.is_encoded("Saw the regdab and surlaw there", hidden, seen_text("Is it a walrus?"))


def test_three_words_in_reverse_are_a_coincidence_and_four_are_not() -> None:
    hidden, seen = hidden_text(" ".join(ANIMALS)), seen_text()
    assert not copies.is_encoded(" ".join([OTHERS[0], *ANIMALS[2::-1], OTHERS[1]]), hidden, seen)
    assert copies.is_encoded(" ".join([OTHERS[0], *ANIMALS[3::-1], OTHERS[1]]), hidden, seen)


def test_a_line_shown_before_is_checked_together_with_the_new_one() -> None:
    words = " ".join(ANIMALS)
    hidden, seen = hidden_text(f"{words}."), seen_text(f"Is it near {' or '.join(ANIMALS)}?")
    lines = ["Compared the ant with the bee and the cat", "Compared the dog, elk and fox"]
    assert [check(line, hidden, seen).reason for line in lines] == [None, None]
    assert check(lines[1], hidden, seen, lines[:1]).reason is Reason.COPY


def test_a_copy_with_others_between_its_words_may_begin_with_the_first_word() -> None:
    apart = " ".join(word for pair in zip(SHORT[:5], OTHERS, strict=False) for word in pair)
    assert is_copy(apart, " ".join(SHORT[:5]), "") == (False, True)
    assert is_copy(apart.partition(" ")[2], " ".join(SHORT[:5]), "") == (False, False), "four are too few"
    assert is_copy(" ".join([OTHERS[0], *SHORT[1:5], SHORT[0]]), " ".join(SHORT[:5]), "") == (False, False), "the first one is behind them"


def test_a_word_said_twice_does_not_break_a_copy() -> None:
    line = [SHORT[0], *OTHERS[:3], SHORT[1], SHORT[1], *SHORT[2:5]]
    assert is_copy(" ".join(line), " ".join(SHORT[:5]), "") == (False, True)
    assert is_copy(" ".join([*line[:4], *line[5:]]), " ".join(SHORT[:5]), "") == (False, True), "one of them is near enough"


def test_words_in_reverse_order_are_a_cipher() -> None:
    hidden, line = hidden_text(" ".join(ANIMALS)), " ".join(reversed(ANIMALS[:4]))
    assert copies.is_encoded(line, hidden, seen_text())
    assert not copies.is_encoded(line.rpartition(" ")[0], hidden, seen_text()), "three are too few"
