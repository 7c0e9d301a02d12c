"""Search terms: folded the same way in texts and queries, matched by prefix, and anywhere in scripts without spaces."""

import unicodedata
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatui.store import search_words
from chatui.store.search_words import Query


def matches_in(query: str, text: str) -> list[str]:
    """The parts of ``text`` that match."""
    return [text[start:end] for start, end in search_words.query(query).spans(text)]


def is_indexed(query: Query, text: str) -> bool:
    """Whether an index of terms would return this text for the query."""
    held = search_words.terms(text, 1_000_000)
    for term in query.terms:
        inner = search_words.INNER + term.inner
        is_cut = len(term.inner) < len(term.text)
        is_inside = bool(term.inner) and any(one == inner if is_cut else one.startswith(inner) for one in held)
        if not is_inside and not any(one.startswith(term.text) if term.is_prefix else one == term.text for one in held):
            return False
    return True


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("plan", "The planning of a PLAN", ["planning", "PLAN"]),
        ("lanning", "The planning", []),
        ("resume", "His résumé", ["résumé"]),
        ("RÉSUMÉ", "his resume", ["resume"]),
        ("strasse", "Die Straße", ["Straße"]),
        ("name", "my_name = 1", ["name"]),
        ("don't", "I don't", ["don", "t"]),
        ("a", "a cat and a dog", ["a", "a"]),
        ("京都", "東京都庁へ行く", ["京都"]),
        ("庁", "東京都庁", ["庁"]),
        ("東庁", "東京都庁", []),
        ("東京都庁へ", "東京に都庁へ行く", []),
        ("模型", "GPT模型很大", ["模型"]),
        ("สวัสดี", "เขาพูดว่าสวัสดีครับ", ["สวัสดี"]),
        ("किताब", "हिन्दी की किताबें", ["किताबें"]),
        ("한국", "한국어를 배운다", ["한국어를"]),
        ("شمس", "الشَّمْس شَمْس", ["شَمْس"]),
        ("שלום", "שָׁלוֹם", ["שָׁלוֹם"]),
        ("ガス", "ガスレンジ", ["ガス"]),
        ("donaudampf", "Donau\u00addampf\u00adschiff", ["Donau\u00addampf\u00adschiff"]),
        ("Donau\u00addampf", "das Donaudampfschiff", ["Donaudampfschiff"]),
        ("dampf", "Donau\u00addampf\u00adschiff", ["Donau\u00addampf\u00adschiff"]),
        ("example", "exam\u200bple", ["exam\u200bple"]),
        ("میخواهم", "من می\u200cخواهم", ["می\u200cخواهم"]),
        ("خواهم", "من می\u200cخواهم", ["خواهم"]),
        ("vertrag", "Der Mietvertrag und die Vertragsstrafe", ["Mietvertrag", "Vertragsstrafe"]),
        ("Frist", "Welche Kündigungsfrist?", ["Kündigungsfrist"]),
        ("vertr", "Im Mietvertrag", ["Mietvertrag"]),
        ("ende", "Am Wochenende, wie folgende", ["Wochenende"]),
        ("tag", "Montag", []),
        ("table", "no comfortable one", []),
        ("form", "Information", []),
        ("회의", "정기회의록에서", ["정기회의록에서"]),
        ("회의를", "정기회의록에서", ["정기회의록에서"]),
        ("회의ㄹ", "다음 회의", ["회의"]),
        ("모델", "GPT모델을", ["GPT모델을"]),
        ("고양이", "고양시", []),
        ("물", "물을 선물로", ["물을"]),
        ("launch plan", "a plan without the other", []),
        ("launch plan", "a plan for the launch", ["plan", "launch"]),
    ],
)
def test_words_are_found_as_people_of_each_script_expect(query: str, text: str, expected: list[str]) -> None:
    assert matches_in(query, text) == expected
    assert not expected or is_indexed(search_words.query(query), text)


@pytest.mark.parametrize("odd", ["", " ", '"', "\x00", "\ud800", "*", "AND", "(", "NEAR/3", "'; --", ":*", "&|!", "🎉", "\u200d", "ﬀ", "½"])
def test_no_character_has_a_special_meaning_in_a_query(odd: str) -> None:
    query = search_words.query(odd)
    assert all(character.isalnum() for term in query.terms for character in term.text)
    assert query.terms == search_words.query(odd.lower()).terms


@pytest.mark.slow
def test_terms_contain_no_separators_or_quotes() -> None:
    everything = "".join(chr(point) for point in range(0x30000) if not 0xD800 <= point < 0xE000)
    for term in search_words.terms(" ".join(everything), 10_000_000):
        assert term == term.lower() or not term.isascii()
        kinds = {unicodedata.category(character) for character in term} - {"Cn"}
        assert {kind[0] for kind in kinds} <= {"L", "M", "N"}, ascii(term)


def test_an_index_entry_is_limited_in_bytes() -> None:
    text = " ".join(f"word{number}é" for number in range(5000))
    held = search_words.terms(text, 1000)
    assert held and sum(len(term.encode()) + 1 for term in held) <= 1000
    assert held == search_words.terms(text, 100_000)[: len(held)]


def test_a_very_long_word_is_found_by_its_beginning() -> None:
    assert matches_in("x" * 300, "x" * 400) == ["x" * 400]


def test_a_query_has_a_limited_number_of_different_words() -> None:
    assert len(search_words.query("one two three four five six seven eight nine ten").wanted) == 8
    assert len(search_words.query("one One ONE").wanted) == 1


@given(st.text(alphabet=st.sampled_from("abÉßDEfg東京都한국어을ㄱสวั हि123_\"*'- \n"), max_size=40), st.data())
def test_text_is_found_by_the_index_and_by_highlighting(text: str, data: st.DataObject) -> None:
    there = list(search_words.words(text))
    if not there:
        return
    word = data.draw(st.sampled_from(there))
    typed = text[word.start : word.end]
    if word.run:
        start = data.draw(st.integers(0, len(typed) - 1))
        typed = typed[start : data.draw(st.integers(start + 1, len(typed)))]
    query = search_words.query(typed)
    assert query.wanted, ascii(typed)
    assert query.spans(text) and is_indexed(query, text)


@pytest.mark.slow
@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=200), st.integers(0, 60))
def test_ascii_text_has_the_terms_of_its_words(text: str, limit: int) -> None:
    folded = list(dict.fromkeys(word.folded for word in search_words.words(text)))
    held = search_words.terms(text, 10_000)
    assert held[: len(folded)] == folded
    assert all(term.startswith(search_words.INNER) for term in held[len(folded) :])
    sizes = accumulate(len(each.encode()) + 1 for each in held)
    assert search_words.terms(text, limit) == [term for term, size in zip(held, sizes, strict=True) if size <= limit]


@given(st.text(max_size=30), st.text(max_size=200))
def test_every_highlighted_match_is_found_by_the_index(typed: str, text: str) -> None:
    query = search_words.query(typed)
    if query.spans(text):
        assert is_indexed(query, text)


@pytest.mark.slow
@given(st.text(max_size=80))
def test_matches_are_ordered_disjoint_and_inside_the_text(text: str) -> None:
    spans = search_words.query(text).spans(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(first[1] < second[0] for first, second in pairwise(spans))
