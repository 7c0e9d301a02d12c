"""Numbers in summary lines: which digits lines spell, which counts they may contain, and which tokens look like keys or codes."""

from __future__ import annotations

import pytest

from renderer.summary import numbers, opaque_words
from renderer.summary.check import check
from renderer.summary.number_words import is_number
from renderer.summary.reasons import Reason
from renderer.summary.spellings import digits
from tests.renderer.summary.texts import hidden_text, seen_text
from tests.support.cases import for_each


@for_each(
    [
        ("page 12 of 345", ["12", "345"]),
        ("4 417-88.29", ["44178829"]),
        ("4 - 4", ["4", "4"]),
        ("(44) 17/88, 29", ["44178829"]),
        ("१२ and ٣٤", ["12", "34"]),
        ("no number, only signs: -.", []),
        ("x² and ½", []),
    ]
)
def test_figures_are_read_in_any_script_with_up_to_two_separators_between_digits(text: str, runs: list[str]) -> None:
    assert digits.runs(text) == runs


def test_numbers_are_looked_up_in_runs_of_three_four_and_six_digits() -> None:
    assert digits.grams("12 and 345") == {"345"}
    assert digits.grams("1234 5") == {"123", "234", "345", "1234", "2345"}
    assert digits.grams("1234567") >= {"123456", "234567"} and not {"12345", "1234567"} & digits.grams("1234567")


@for_each(
    [
        ("four four one", {"441"}),
        ("four four", set()),
        ("four of four one", set()),
        ("vier cuatro one sieben of eight eight", {"441", "417", "4417"}),
        ("ten twelve", {"101", "012", "1012"}),
        ("四四一七", {"441", "417", "4417"}),
        ("사사일", {"441"}),
        ("〇两兩", {"022"}),
    ]
)
def test_digits_written_as_words_in_a_row_are_a_number(text: str, grams: set[str]) -> None:
    assert digits.spelled_grams(text.split()) == grams


@for_each(
    [
        (["Size 12", "34"], {"123", "234", "1234", "432", "321", "4321", "3412"}),
        (["Size 12"], set()),
        (["Size 123"], {"123", "321"}),
        (["12 two", "3"], {"122", "223", "1223", "322", "221", "3221"} | {"3212"}),
        (["三条 1", "2"], {"132", "231", "312", "213"}),
        (["Four 17"], {"174", "471", "417", "714"}),
        (["삼사오"], {"345", "543"}),
    ]
)
def test_lines_spell_the_digits_of_their_numbers_side_by_side_and_backwards(lines: list[str], grams: set[str]) -> None:
    assert digits.spelled(lines) == grams


def test_numbers_of_a_few_digits_spell_another_one_in_any_order_and_with_others_between() -> None:
    for lines in (
        ["12 and 90 and 34"],
        ["12", "90", "34"],
        ["12, 90, 34"],
        ["34-90-12"],
        ["34", "90", "12"],
        ["1 90 2 34"],
        ["34 90 twelve"],
    ):
        assert "1234" in digits.spelled(lines), lines
    assert "1234" not in digits.spelled(["1 90 2 90 3 90 4"]), "of four pieces, that is a coincidence"
    assert "124" not in digits.spelled(["12 90 4"]), "and so it is with three digits"


def test_only_the_last_twelve_numbers_are_combined() -> None:
    lines = [str(number) for number in range(70, 83)]
    assert {"7182", "8271"} <= digits.spelled(lines)
    assert not {"7082", "8270"} & digits.spelled(lines)


def test_six_lengths_of_words_in_a_row_spell_a_number() -> None:
    lines = ["Had a draw I fully dismissed", "at abcdefghij"]
    assert "314159" in digits.spelled(lines) and "590" not in digits.spelled(lines)
    assert {"141592", "415920"} <= digits.spelled(lines), "also over several lines; ten letters count as zero"
    assert {gram for gram in digits.spelled(lines) if len(gram) != 6} == set()
    hidden = hidden_text("The code is 314159.")
    assert numbers.reveals_number_together(lines, hidden, seen_text())
    assert not numbers.reveals_number_together(lines, hidden, seen_text("Is it 314159?"))
    assert not numbers.reveals_number_together(lines, hidden_text("The code is 314160."), seen_text())


@for_each(
    [("four", True), ("eleven", True), ("neuf", True), ("one", False), ("first", False), ("sei", False), ("octet", False), ("ox", False)]
)
def test_a_word_that_can_only_be_a_number_is_one(word: str, is_number: bool) -> None:
    assert digits.is_number_word(word) is is_number


def test_one_word_that_counts_is_allowed_and_two_are_a_number() -> None:
    assert not digits.counts_in_shapes(["Compared the octet", "Heard it"], [])
    assert digits.counts_in_shapes(["Compared the octet", "Heard a trio"], [])
    assert digits.counts_in_shapes(["An octet and an octet"], [])
    assert not digits.counts_in_shapes(["Compared the octet", "Heard a trio"], ["trio"])
    assert digits.counts_in_shapes(["甲乙丙"], ["甲乙丙"]) and not digits.counts_in_shapes(["甲乙"], [])
    assert digits.counts_in_shapes(["Saw it", "甲乙丙", "Saw it"], [])
    assert numbers.reveals_number_together(["The octet and the trio"], hidden_text(), seen_text())


@for_each(
    [
        *[(word, True) for word in ("thirteen", "seven", "vierundzwanzig", "xiv", "삼백", "하나", "第三", "半年", "dreifach")],
        *[(word, False) for word in ("road", "tent", "삼백명", "하나둘", "年", "wave")],
    ]
)
def test_number_words_roman_numerals_and_runs_with_a_chinese_number_may_be_numbers(word: str, may: bool) -> None:
    assert is_number(word) is may


@for_each(
    [
        ("Compared ways, other ways and all ways", True),
        ("Compared ways and other ways", False),
        ("Compared the train, the car and the road", False),
        ("Compared the the car", True),
        ("It is the one that was", False),
        ("Compared a; b: c, d-e. f; g: h, i", False),
        ("Compared a; b: c, d-e. f; g: h, i.", True),
        ("Compared a $ b $ c $ d $ e $ f $ g $ h $ i $ j", True),
        ("Compared trains..", False),
        ("Compared trains...", True),
        ("Compared trains -, ;", False),
        ("Compared trains -, ; :", True),
    ]
)
def test_repeated_words_and_signs_may_encode_a_count(line: str, may: bool) -> None:
    assert numbers.may_encode_count(line) is may


@for_each(
    [
        (["Compared three ways"], "", "", False),
        (["Compared three ways"], "There are 3.", "", True),
        (["Compared three ways"], "There are three.", "", True),
        (["Compared three ways"], "There are 4.", "", False),
        (["Compared three ways"], "There are 3.", "three", False),
        (["Compared three ways", "Saw two"], "", "", True),
        (["Compared three ways", "Saw two"], "", "two", False),
        (["Compared ways twice", "Saw secondly"], "", "", True),
        (["比较三种方法"], "", "", False),
        (["比较三种方法"], "有三个。", "", True),
        (["比较三种方法"], "有3个。", "", False),
        (["比较三种方法", "看了两个"], "", "", True),
        (["比较三种方法", "看了两个"], "", "三种呢?", False),
        (["比较三种方法 two"], "", "", True),
    ]
)
def test_lines_may_have_one_small_number_unless_hidden_text_has_it(lines: list[str], hidden: str, seen: str, reveals: bool) -> None:
    assert numbers.reveals_small_number(lines, hidden_text(hidden), seen_text(seen)) is reveals


@for_each(
    [
        ("열두 가지", "", True),
        ("열두 가지", "열두 개?", False),
        ("열두가지", "열두명", False),
        ("열두 가지", "스물", True),
        ("두 가지", "", False),
    ]
)
def test_korean_numbers_from_ten_on_must_be_visible(line: str, seen: str, reveals: bool) -> None:
    assert numbers.reveals_korean_number(line, seen_text(seen)) is reveals


def test_digits_that_lines_spell_must_not_be_those_of_a_hidden_number_unless_they_are_visible() -> None:
    lines, hidden = ["Compared 44 ways", "Compared 17"], hidden_text("Account 4417.")
    assert numbers.reveals_number_together(lines, hidden, seen_text("44 or 17?"))
    assert not numbers.reveals_number_together(lines, hidden, seen_text("4417?"))
    assert numbers.reveals_number_together(lines, hidden, seen_text("441?")), "only a part is visible"
    assert not numbers.reveals_number_together(lines, hidden_text("Account 4418."[:9] + "98."), seen_text())


OPAQUE = [
    ("aB", True),
    ("Ab", False),
    ("loadRow", True),
    ("NIGHT", True),
    ("NATO", False),
    ("Night", False),
    ("bcdfghja", True),
    ("bcdfghjae", False),
    ("bcdfghaj", True),
    ("strings", False),
    ("bcdfg", True),
    ("bcdf", False),
    ("rhythm", False),
    ("abcdefg" * 4, False),
    ("abcdefg" * 4 + "a", True),
    ("ab1", True),
    ("ü1", True),
    ("über", False),
    ("½", True),
    ("Ⅳ", True),
    ("a½", True),
    ("ж1", True),
    ("Москва", False),
    ("bcdfghjklmnpqrstvaeu", False),
    ("bcdfghjklmnpqrstvwae", True),
    ("x²", True),
    ("don't", False),
    ("", False),
]


@for_each(OPAQUE)
def test_a_key_or_code_is_one_unless_it_is_visible(token: str, is_opaque: bool) -> None:
    assert opaque_words.contains_secret(f"Saw {token} there", seen_text()) is is_opaque
    assert not opaque_words.contains_secret(f"Saw {token} there", seen_text(f"Is it “{token}”?"))
    assert not opaque_words.contains_secret(f"Saw ({token}), there", seen_text(token))


def test_a_token_is_visible_if_all_its_words_are() -> None:
    assert opaque_words.contains_secret("Saw 17/23", seen_text("17"))
    assert not opaque_words.contains_secret("Saw 17/23", seen_text("23 or 17"))
    assert opaque_words.contains_secret("看17个", seen_text("看个"))
    assert not opaque_words.contains_secret("看17个", seen_text("17?")), "in scripts without spaces, only the number must be visible"
    assert not opaque_words.contains_secret("看17个", seen_text("第17号"))
    assert opaque_words.contains_secret("看17个23次", seen_text("第17号"))


def test_five_single_letters_spell_a_word_and_four_do_not() -> None:
    seen = seen_text("a b c d e f")
    assert not opaque_words.contains_secret("a b c d there", seen)
    assert opaque_words.contains_secret("a b c d e there", seen)
    assert not opaque_words.contains_secret("a b c d 5 ж there", seen_text("a b c d 5 ж"))


@pytest.mark.parametrize(("count", "is_secret"), [(299, False), (300, True)])
def test_more_than_three_hundred_visible_numbers_make_none_of_them_visible(count: int, is_secret: bool) -> None:
    seen = seen_text(" ".join(str(number) for number in range(1000, 1000 + count)) + " aB A1007")
    assert opaque_words.contains_secret("Saw 1007 there", seen) is is_secret
    assert opaque_words.contains_secret("Saw A1007 there", seen) is is_secret
    assert not opaque_words.contains_secret("Saw aB there", seen)


def test_the_check_applies_each_rule_for_numbers() -> None:
    question = "How do I get to work when it rains? Is it 44 or 17?"
    hidden, seen = hidden_text("Account 4417."), seen_text(question)
    assert check("Compared 44 ways to work", hidden, seen).reason is None
    assert check("Compared 17 ways to work", hidden, seen, ["Compared 44 ways to work"]).reason is Reason.SECRET
    assert check("Compared ways; ways, and then ways to work", hidden, seen).reason is Reason.SECRET
    assert check("Compared two ways to work", hidden, seen, ["Compared three ways to work"]).reason is Reason.SECRET
