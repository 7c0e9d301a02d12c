"""What the index of hidden and visible text has, however the text arrives; and how its words are reduced to stems."""

from __future__ import annotations

import pytest

from renderer.summary import index
from renderer.summary.index import Grams, HiddenText, SeenText
from tests.renderer.summary.texts import hidden_text, seen_text
from tests.support.cases import for_each


def test_text_counts_when_it_settles_even_if_its_last_word_is_incomplete() -> None:
    hidden = HiddenText()
    hidden.feed("We ask the Marmot for four hund")
    assert hidden.words == set(), "the premise: nothing is indexed yet"
    hidden.settle()
    assert {"marmot", "four"} <= hidden.words and "hund" not in hidden.words
    hidden.feed("red things")
    hidden.settle()
    assert "hundred" in hidden.words and not {"hund", "red", "things"} & hidden.words
    hidden.settle(is_end=True)
    assert "things" in hidden.words and hidden.shared(["four", "hundred", "things"]) == [True]


@pytest.mark.parametrize("space", [" ", "\n"])
def test_words_end_at_spaces_and_line_breaks(space: str) -> None:
    hidden = HiddenText()
    hidden.feed(f"marmot{space}badger")
    hidden.settle()
    assert hidden.words == {"marmot"}


def test_two_thousand_characters_are_indexed_at_once() -> None:
    hidden = HiddenText()
    hidden.feed("marmot " * 285)
    hidden.feed("badg")
    assert hidden.words == set(), "1999 characters"
    hidden.feed("e")
    assert hidden.words == {"marmot"}
    hidden.feed("r ")
    hidden.feed("otter " * 331)
    assert hidden.words == {"marmot"}, "those that wait are counted anew"
    hidden.feed("otter " * 2)
    assert hidden.words == {"marmot", "badger", "otter"}


@pytest.mark.parametrize(("count", "words"), [(199, {"so"}), (200, {"so", "a" * 200})])
def test_a_word_of_two_hundred_characters_does_not_wait(count: int, words: set[str]) -> None:
    hidden = HiddenText()
    hidden.feed("so " + "a" * count)
    hidden.settle()
    assert hidden.words == words


def test_a_first_word_waits_until_it_ends() -> None:
    hidden = HiddenText()
    hidden.feed("marmot")
    hidden.settle()
    assert hidden.words == set()
    hidden.feed("s go")
    hidden.settle()
    assert hidden.words == {"marmots"}


@pytest.mark.parametrize("step", [1, 5, 9, 50])
def test_letters_and_characters_are_found_across_pieces(step: int) -> None:
    latin, chinese = "the quick brown badger jumps over the lazy zebras of zanzibar ", "需要比较火车和自行车的时间然后再看看明天早上"
    hidden = HiddenText()
    for at in range(0, len(latin + chinese), step):
        hidden.feed((latin + chinese)[at : at + step])
        hidden.settle()
    letters = latin.replace(" ", "")
    assert all(hidden.letters.share(letters[at : at + 31]) for at in range(len(letters) - 30))
    assert all(hidden.unspaced.share(chinese[at : at + 7]) for at in range(len(chinese) - 6))


@pytest.mark.parametrize(("text", "name"), [("Ms. Hollering", "hollering"), ('"very quiet"', "quiet"), ('"very quiet"', "very")])
def test_what_comes_before_a_piece_belongs_to_its_names(text: str, name: str) -> None:
    hidden = HiddenText()
    for piece in text.split(" "):
        hidden.feed(f"{piece} ")
        hidden.settle()
    assert name in hidden.certain_names


def test_runs_of_words_go_on_in_the_next_piece_but_not_in_the_next_frame() -> None:
    hidden = HiddenText()
    hidden.feed("ant bee ")
    hidden.settle()
    hidden.feed("cat dog ")
    hidden.settle()
    assert hidden.shared(["ant", "bee", "cat", "dog"]) == [True, True]
    assert hidden.contains_run(("bee", "cat", "dog")) and not hidden.contains_run(("cat", "bee", "dog"))
    hidden.settle(is_end=True)
    hidden.feed("elk fox")
    hidden.settle(is_end=True)
    assert hidden.shared(["cat", "dog", "elk", "fox"]) == [False, False]


def test_names_and_numbers_are_found_across_pieces() -> None:
    hidden = HiddenText()
    for piece in ("We meet Ms. ", "Hollering at ", "44 ", "17 then. We see Peter ", "Fischer and 「红 ", "山楂」 here "):
        hidden.feed(piece)
        hidden.settle()
    assert "hollering" in hidden.certain_names and "4417" in hidden.digits
    assert hidden.named_after["fischer"] == {"peter"} and "红山楂" not in hidden.certain_names
    hidden.feed('"' + "very ")
    hidden.settle()
    hidden.feed('quiet" ')
    hidden.settle()
    assert "quiet" in hidden.certain_names


def test_the_end_of_a_name_is_not_taken_for_a_name_of_its_own() -> None:
    hidden = HiddenText()
    for piece in ("a" * 30 + " ", "Xy" * 20 + "Marmot ", "b" * 30 + " ", "c" * 9 + " ", "d " * 20):
        hidden.feed(piece)
        hidden.settle()
    assert not any(name in hidden.spelled_names for name in ("marmot", "ymarmot", "xymarmot"))


def test_the_index_of_hidden_words() -> None:
    hidden = hidden_text("Badgers saw three badges, 3 or 55, in 四种. 看红山 " + "z" * 31 + " " + "y" * 30)
    assert {"badger", "badges", "badge"} <= hidden.forms and "看红" in hidden.pairs and "红山" in hidden.pairs and "山" not in hidden.pairs
    assert hidden.small_numbers == {3, 4} and hidden_text("four four one").digits == {"441"}
    assert {"badgers", "three", "badges"} <= hidden.long_words and not {"saw", "or"} & hidden.long_words
    assert {"".join(sorted(word)) for word in ("badger", "badge")} <= hidden.letter_sets and "asw" not in hidden.letter_sets
    assert "bdgrs" in hidden.skeletons and "z" * 31 not in hidden.forms and "y" * 30 in hidden.forms
    assert not any("看" in form for form in hidden.forms), "scripts without spaces have no endings"
    assert hidden.pinyin == {"k", "h", "s", "kh", "hs", "z", "sz"}
    assert hidden.instructions == [] and hidden.names == set() and hidden.instruction_forms == set()


def test_the_index_of_instructions() -> None:
    hidden = HiddenText()
    hidden.feed("we ask ")
    hidden.feed_instructions('Ask Marmot. Say "quiet words" to 红山楂 always')
    assert {"ask", "marmot", "quiet", "红山楂", "always", "we"} <= hidden.words
    assert {"ask", "marmot", "quiet"} <= hidden.instruction_words and "we" not in hidden.instruction_words
    assert {"word", "红山", "山楂"} <= hidden.instruction_forms and "红山楂" not in hidden.instruction_forms
    assert {"marmot", "quiet", "words"} <= hidden.names and "always" not in hidden.names
    assert hidden.shared(["we", "ask", "ask", "marmot", "say"]) == [True, True, True], "an open frame goes on"


@for_each(
    [
        (
            "Weather traffic distance bicycle. Luggage platform ticket schedule.",
            [{"weathe", "traffi", "distan", "bicycl"}, {"luggag", "platfo", "ticket", "schedu"}],
        ),
        ("Weather. Traffic. Distance bicycle. Luggage", [{"weathe", "traffi", "distan", "bicycl"}, {"luggag"}]),
        ("Weather. Luggage platform ticket schedule. Traffic", [{"luggag", "platfo", "ticket", "schedu"}, {"weathe", "traffi"}]),
        ("Weather. Weather. Traffic", [{"weathe", "traffi"}]),
        ("the of", []),
    ]
)
def test_short_sentences_of_instructions_are_joined_until_they_have_four_stems(text: str, sentences: list[set[str]]) -> None:
    assert hidden_text(instructions=text).instructions == sentences


@for_each(
    [
        ("comparings compared compares compare", {"compar"}),
        ("accordingly repeatedly", {"accord", "repeat"}),
        ("planned planning", {"plan"}),
        ("stories tried", {"stor", "tri"}),
        ("buses slowly", {"bus", "slow"}),
        ("sing red bed bes", {"sing", "red", "bed", "bes"}),
        ("is ox of 44 100 155 1999", {"100", "155", "1999"}),
        ("kindness", {"kindne"}),
        ("houses", {"hous"}),
        ("fall all", {"fal", "all"}),
        ("看红山 python代码", {"看红", "红山", "代码"}),
    ]
)
def test_stems_are_the_same_for_all_forms_of_a_word(text: str, stems: set[str]) -> None:
    assert index.stems(text) == stems


@for_each([("(Night),", "night"), ("“Straße”!", "strasse"), ("don't", "don't"), ("_a_b_", "a_b"), ("«x»", "x"), ("-5%", "-5%")])
def test_a_token_is_compared_without_the_punctuation_around_it(token: str, bare: str) -> None:
    assert index.bare(token) == bare


@for_each([("badger", "bdgr"), ("baadgger", "bdgr"), ("hotel", "hotel"), ("bdg", "bdg"), ("thousand", "tsnd"), ("marmot", "mrmt")])
def test_misspelt_words_have_the_same_skeleton(word: str, skeleton: str) -> None:
    assert index.skeleton(word) == skeleton


def test_the_index_of_visible_text() -> None:
    seen = seen_text("Is 123 (or A12) at «Straße»? 看红山17 ab. Say 'marmot'!")
    assert {"123", "a12", "strasse", "看红山17", "marmot"} <= seen.words and "17" not in seen.words
    assert {"17", "看红山", "strasse"} <= seen.parts
    assert {"看红", "红山"} <= seen.pairs and seen.roots == set()
    assert {"123", "a12", "strasse", "marmot"} <= seen.tokens and seen.numbers == {"123"}
    assert seen.digits == {"123"}
    assert {"marmot", "strasse"} <= seen.names and seen.scripts == {"LATIN", "CJK"}
    assert {"marmot", "strass"} <= seen.forms and seen.language_counts["English"] > 0
    assert len(seen.passages) == 1 and {"marmot", "看红"} <= seen.stems and seen.passages[0] == seen.stems


def test_visible_text_adds_up() -> None:
    seen = SeenText()
    seen.feed("ant bee cat dog elk fox")
    seen.feed("gnu hen the the")
    words = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu"]
    assert {hash(tuple(words[at : at + 5])) for at in range(2)} == seen.runs, "runs end with a message"
    assert {"ant", "gnu"} <= seen.stems and len(seen.passages) == 2 and seen.language_counts["English"] == 6
    assert {"ant", "gnu"} <= seen.words & seen.forms & seen.romance


def test_passages_have_eighty_words_and_the_last_five_hundred_are_kept() -> None:
    seen = seen_text(" ".join(f"{at}badge" for at in range(81)))
    assert [len(passage) for passage in seen.passages] == [80, 1]
    for at in range(499):
        seen.feed(f"{at}otter")
    assert len(seen.passages) == 500 and seen.passages[0] == {"80badg"} and seen.passages[-1] == {"498ott"}
    assert "0badg" in seen.stems, "the words themselves stay visible"


@for_each(
    [
        ("학교에서", {"학교", "학교에", "학교에서"}),
        ("집은", {"집", "집은"}),
        ("책밥", {"책밥"}),
        ("집", {"집"}),
        ("红가방", set()),
        ("가나다라마바사", {"가나", "가나다", "가나다라", "가나다라마", "가나다라마바"}),
    ]
)
def test_korean_words_are_visible_without_a_possible_ending(word: str, roots: set[str]) -> None:
    assert seen_text(word).roots == roots


def test_runs_of_characters_are_found_unless_they_are_known() -> None:
    grams, known = Grams(4, 2), Grams(4, 1)
    grams.feed("abc")
    assert not grams.share("abcd")
    grams.feed("defgh")
    assert grams.share("abcd") and grams.share("xcdefx") and grams.share("efgh")
    assert not grams.share("bcde") and not grams.share("abc") and not grams.share("dbca")
    for cut in range(9):
        both = Grams(4, 2)
        both.feed("abcdefghij"[:cut])
        both.feed("abcdefghij"[cut:])
        assert [both.share("abcdefghij"[at : at + 4]) for at in range(7)] == [True, False] * 3 + [True]
    known.feed("abcde")
    assert not grams.share("abcdx", known) and grams.share("abcdefx", known)
