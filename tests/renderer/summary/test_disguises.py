"""Letters that are invisible, decorated or look like others; and the scripts of a text."""

from __future__ import annotations

from renderer.summary import disguises
from tests.support.cases import for_each


@for_each(
    [
        ("Größe, CAFÉ & naïve", ["grosse", "cafe", "naive"]),
        ("don't don\u2019t don`t", ["dont", "dont", "dont"]),
        ("a_b-c.d", ["a", "b", "c", "d"]),
        ("Р\u0430ssw\u043erd", ["password"]),
        ("\u0456\u0455 \u03b1\u03b2 \u0131", ["is", "ab", "i"]),
        ("\uff37\uff41\uff59 \U0001d5fb \u24b6", ["way", "n", "a"]),
        ("wa\u200by \u00adno", ["way", "no"]),
        ("\uac00 \u1100\u1161", ["\uac00", "\uac00"]),
        ("看17个 x", ["看17个", "x"]),
    ]
)
def test_words_are_compared_without_case_accents_marks_and_look_alikes(text: str, words: list[str]) -> None:
    assert disguises.words(text) == words


def test_scripts_without_spaces_are_separated_from_others() -> None:
    assert disguises.unspaced("ab看cd가ไ") == "看가ไ" and disguises.unspaced("abc") == disguises.unspaced("жё") == ""
    assert disguises.split_by_spacing("python代码2") == ["python", "代码", "2"]
    assert disguises.split_by_spacing("代码") == ["代码"] and disguises.split_by_spacing("code") == ["code"]


VISIBLE = [
    "Compared ways",
    "Größe und naïveté",
    "a\u0308 decomposed, \u1eaf composed, a\u0308o\u0308u\u0308",
    "\u0926\u0947\u0928\u0947 \u0917\u092f\u0940\u0902",
    "\u0e17\u0e35\u0e48 \u0e43\u0e19",
    "راه\u200cهای مختلف",
    "\u0915\u094d\u200d\u0937",
    "5 \u20ac, 2 \u00d7 3, \u00a7 4",
    "5 \u00b0 and \u00a9",
    "权衡（时间），再看！",
    "ه\u200cه",
    "tab\tnew\nline\r",
    "",
]


@for_each(VISIBLE)
def test_ordinary_text_of_any_script_has_no_invisible_characters(text: str) -> None:
    assert not disguises.has_invisible_characters(text)


@for_each(
    [
        "راه\u200c",
        "\u200cراه",
        "ab\u200ccd",
        "ab\u200cه",
        "ه\u200cab",
        "ه\u200c ه",
        "ه\u200cab ه",
        "ه\u200bه",
        "ه5\u200c",
        "ه،\u200cه",
        "\U0001d41a",
        "\u00aa",
        "way\u200dway",
        "x\u0301",
        "a\u0327\u0304\u0323",
        "\u0e17\u0e35\u0e35\u0e35",
        "5 \u00b0 \u00a9 \u00ae",
        "\u00a8 \u00b4 \u00b0",
        "\uff11",
        "\u00b2",
        "\u2082",
        "\u2460",
        "\u3250",
        "\U0001d400",
        "a\u02b0",
        "\u2071",
        "\u2028",
        "\x00",
        "\ue000",
        "\ufffd",
        "\u0378",
        "a\u20dd",
        "\u1d21",
        "\ufe0f",
        "\u2800",
        "\U0001f1e9",
        "\U000e0041",
    ]
)
def test_invisible_and_decorated_characters_are_found_wherever_they_are(text: str) -> None:
    for line in (text, f"看 {text}", f"{text} 看", f"看 {text} 看"):
        assert disguises.has_invisible_characters(line), ascii(line)


def test_two_marks_on_a_letter_are_ordinary_and_three_are_not() -> None:
    thai = "\u0e17\u0e35\u0e48"
    assert not disguises.has_invisible_characters(thai * 5), "they are counted for each letter"
    assert disguises.has_invisible_characters(f"{thai}\u0e48")


@for_each(
    [
        ("Compared 5", {"LATIN"}),
        ("5 - 6", set()),
        ("é 5", {"LATIN"}),
        ("ж и", {"CYRILLIC"}),
        ("ж w", {"CYRILLIC", "LATIN"}),
        ("看ひカー", {"CJK", "KANA"}),
        ("가 ω", {"HANGUL", "GREEK"}),
        ("。、٣", set()),
        ("\uac00\u30fc", {"HANGUL", "KANA"}),
    ]
)
def test_the_scripts_of_a_text_are_those_of_its_letters(text: str, scripts: set[str]) -> None:
    assert disguises.scripts(text) == scripts


def test_only_words_that_end_like_pig_latin_are_decoded_as_such() -> None:
    found = list(disguises.decoded("istenslay istensl"))[-3:]
    assert found == [["listens", "istensl"], ["slisten", "istensl"], ["nsliste", "istensl"]]
