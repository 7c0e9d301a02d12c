"""Which words of a line are unknown, and which unknown words are allowed."""

from __future__ import annotations

import pytest

from renderer.summary import disguises, new_words, plain_words
from tests.renderer.summary.texts import hidden_text, seen_text
from tests.support.cases import for_each

ENGLISH = "How do I get to work when it rains?"
GERMAN = "Wie komme ich am schnellsten zur Arbeit und was ist mit dem Regen?"
SPANISH = "¿Cómo llego a la oficina cuando llueve y no hay autobuses?"
CHINESE = "我怎么去上班最快?"
RUSSIAN = "Как быстрее добраться до работы?"
KOREAN = "비가 올 때 학교에 어떻게 가나요?"


def unknown(line: str, seen: str = ENGLISH, instructions: str = "") -> list[str]:
    return plain_words.unknown_words(line, seen_text(seen), hidden_text(instructions=instructions).instruction_forms)


def is_allowed(word: str, reasoning: str = "", seen: str = ENGLISH, instructions: str = "", line: str = "") -> bool:
    return new_words.is_allowed(line or f"Saw the {word}", word, hidden_text(reasoning, instructions), seen_text(seen))


@for_each(
    [
        ("Compared the rains", ENGLISH, []),
        ("Compared rain with raining", ENGLISH, []),
        ("Compared zeppelins and marmots", ENGLISH, ["zeppelins", "marmots"]),
        ("Compared ab3 and 44", ENGLISH, []),
        ("Compared three", ENGLISH, []),
        ("Compared eleven", ENGLISH, ["eleven"]),
        ("Compared eleven", f"{ENGLISH} eleven", []),
        ("Compared the worktable", ENGLISH, []),
        ("Compared the tablework", ENGLISH, []),
        ("Compared the roadtable", ENGLISH, ["roadtable"]),
        ("Compared the workzepp", ENGLISH, ["workzepp"]),
        ("Compared the zeppwork", ENGLISH, ["zeppwork"]),
        ("Verglich Arbeitszeit", GERMAN, []),
        ("Verglich Regenzeit", GERMAN, []),
        ("Verglich Zeitregen", GERMAN, []),
        ("Verglich Tagesarbeit", GERMAN, []),
        ("Verglich Regenzeppelin", GERMAN, ["regenzeppelin"]),
        ("Verglich Zeppelinregen", GERMAN, ["zeppelinregen"]),
        ("Compared the Arbeitszeit", ENGLISH, ["arbeitszeit"]),
        ("Die Quantisierung und Digitalisierungen", GERMAN, []),
        ("Verglich Vergleichszeit", GERMAN, []),
        ("Verglich Zeittag", GERMAN, ["zeittag"]),
        ("Verglich Zeittag", f"{GERMAN} Tag", []),
        ("Verglich Tagzeit", GERMAN, ["tagzeit"]),
        ("Verglich Tagzeit", f"{GERMAN} Tag", []),
        ("Verglich Zxsregen", f"{GERMAN} zx", ["zxsregen"]),
        ("Verglich Murmelzeit", GERMAN, ["murmelzeit"]),
        ("Verglich Murmelzeit", f"{GERMAN} Murmeln", []),
        ("Compared the howtable", ENGLISH, ["howtable"]),
        ("Compared the tablehow", ENGLISH, ["tablehow"]),
        ("Compared twentythree", f"{ENGLISH} twenty?", ["twentythree"]),
        ("Compared sete", f"{ENGLISH} set?", ["sete"]),
        ("Compared marmots", f"{ENGLISH} marmot?", []),
        ("Compared marmoteando", f"{ENGLISH} marmotear?", ["marmoteando"]),
        ("Comparó marmoteando", f"{SPANISH} marmotear?", []),
        ("Сравнил способы", RUSSIAN, []),
        ("Сравнил текст", RUSSIAN, []),
        ("Compared tekct", ENGLISH, ["tekct"]),
        ("Сравнил цеппелин", RUSSIAN, disguises.words("цеппелин")),
        ("看python代码", "看python代码?", []),
        ("比较了两种方式", CHINESE, []),
        ("比较齉龘靐齾爨", f"{CHINESE} 齉龘靐齾爨", []),
        ("比较齉龘靐", f"{CHINESE} 齉龘靐齾爨", []),
        ("比较龘靐齾", f"{CHINESE} 齉龘靐齾爨", []),
        ("比较齉靐", f"{CHINESE} 齉龘靐齾爨", ["齉靐"]),
        ("뷁을 비교했습니다", f"{KOREAN} 뷁은?", []),
        ("뷁을 비교했습니다", KOREAN, ["뷁"]),
        ("Comparó las oficinas", SPANISH, []),
        ("Comparó los zepelines", SPANISH, ["zepelines"]),
        ("比较了上班方式", CHINESE, []),
        ("比較時間", CHINESE, []),
        ("選擇優點", CHINESE, []),
        ("比较齉龘", CHINESE, ["齉龘"]),
        ("齉比较龘", CHINESE, ["齉", "龘"]),
        ("比较python", CHINESE, ["python"]),
        ("학교를 비교했습니다", KOREAN, []),
        ("뷁뚫을 비교했습니다", KOREAN, ["뷁뚫"]),
    ]
)
def test_a_word_is_known_if_it_is_plain_visible_or_made_of_such_words(line: str, seen: str, words: list[str]) -> None:
    assert unknown(line, seen) == words


@for_each(
    [
        ("Compared tenancy", "Tenancy is for members.", ENGLISH, ["tenancy"]),
        ("Compared tenancies", "Tenancy is for members.", ENGLISH, ["tenancies"]),
        ("Compared the worktenancy", "Tenancy is for members.", ENGLISH, ["worktenancy"]),
        ("Compared the tenancywork", "Tenancy is for members.", ENGLISH, ["tenancywork"]),
        ("Verglich Regenkupplung", "Kupplung nur für Mitglieder.", GERMAN, ["regenkupplung"]),
        ("Verglich Kupplungregen", "Kupplung nur für Mitglieder.", GERMAN, ["kupplungregen"]),
        ("Compared the time", "Time is for members.", ENGLISH, []),
        ("Compared quantization", "Say quantization.", ENGLISH, ["quantization"]),
        ("Compared tenancy", "Tenancy is for members.", f"{ENGLISH} tenancy", []),
        ("比较了抵押", "抵押给会员", CHINESE, ["押"]),
        ("比较了抵押", "给会员", CHINESE, []),
        ("比较了抵押", "抵押给会员", f"{CHINESE} 抵押", []),
    ]
)
def test_terms_of_a_field_are_unknown_if_the_instructions_have_them(line: str, instructions: str, seen: str, words: list[str]) -> None:
    assert unknown(line, seen) in ([], words if "quant" in line else [])
    assert unknown(line, seen, instructions) == words


@for_each(
    [
        ("puddles", True),
        ("xqzzvk", False),
        ("puddlesandmudguards", False),
        ("pudd", True),
        ("pud", False),
        ("puddlesmudgua", True),
        ("puddlesmudguar", True),
        ("puddlesmudguard", False),
        ("siedem", False),
        ("hachi", False),
        ("пудель", False),
        ("thirteen", False),
        ("eleven", False),
        ("xiv", False),
        ("facade", False),
        ("decade", False),
        ("beaded", False),
    ]
)
def test_a_new_word_looks_like_a_word_and_not_like_a_number(word: str, allowed: bool) -> None:
    assert is_allowed(word) is allowed
    assert not is_allowed(word, seen="ping", line="看") or allowed


def test_german_words_may_be_longer() -> None:
    assert is_allowed("vergleichsmarmelade", seen=GERMAN) and not is_allowed("vergleichsmarmelade")
    assert not is_allowed("vergleichsmarmeladenglas", seen=GERMAN)


def test_a_new_word_with_a_capital_is_a_name_except_at_the_beginning_or_in_german() -> None:
    assert not is_allowed("puddles", line="Saw Puddles") and is_allowed("puddles", line="Puddles were there")
    assert not is_allowed("puddles", line="Saw the “puddles”") and is_allowed("puddles", line="Saw the puddles, there")
    assert is_allowed("puddles", line="Saw Berlin puddles")
    assert is_allowed("marmelade", seen=GERMAN, line="Sah Marmelade")


@for_each(["puddles", "puddle", "selddup", "pudels", "puuddlles", "pudelds", "chqqyrf", "kfwwovh", "uddlespay", "pxuxdxdxlxexs"])
def test_no_new_word_may_be_in_hidden_text_in_another_form(word: str) -> None:
    hidden = "I see puddles there"
    assert not is_allowed(word, hidden)


@for_each(
    [
        ("ponds", "see pond there", False),
        ("pond", "see ponds there", False),
        ("paddles", "see puddles there", False),
        ("puddle", "see pdl there", False),
        ("brook", "see ro there", True),
        ("puddlement", "Puddlement is here.", False),
        ("puddlement", "Puddles are here.", True),
    ]
)
def test_short_and_derived_words_are_compared_with_hidden_text_too(word: str, reasoning: str, allowed: bool) -> None:
    assert is_allowed(word, reasoning) is allowed


@for_each(
    [
        ("puddle", "I see a puddle.", True),
        ("puddles", "I see a puddle.", True),
        ("puddle", "I see puddle.", False),
        ("puddle", "I see a puddle of Puddle.", False),
        ("puddle", 'I see a puddle and "puddle".', False),
        ("puddlement", "I see puddlement.", True),
        ("puddlement", "I see Puddlement.", False),
        ("clemence", "I see a clemence.", False),
    ]
)
def test_a_word_that_reasoning_uses_as_an_ordinary_one_is_allowed(word: str, reasoning: str, allowed: bool) -> None:
    assert is_allowed(word, reasoning) is allowed
    assert not is_allowed(word, reasoning, instructions=f"Say {word} to all.")


@for_each(
    [
        ("pfutze", "Ich sehe eine Pfütze.", True),
        ("pfutze", "Ich sehe Pfütze.", False),
        ("pfutzenheit", "Ich sehe Pfützenheit.", True),
        ("pfutzenheit", "Ich sehe nichts.", True),
        ("pfutzenheit", "Ich sehe Pfützenhiet.", False),
        ("pfutzenheit", 'Ich sehe "Pfützenheit".', False),
    ]
)
def test_german_nouns_are_ordinary_words_with_an_article_or_an_ending_that_no_name_has(word: str, reasoning: str, allowed: bool) -> None:
    assert is_allowed(word, reasoning, seen=GERMAN) is allowed


@for_each(
    [
        ("齉", "这里没有", "看齉的", True),
        ("齉龘", "这里没有", "看齉龘的", True),
        ("齉龘靐", "这里没有", "看齉龘靐的", True),
        ("齉龘靐齾", "这里没有", "看齉龘靐齾的", False),
        ("齉龘", "这里有齉龘。", "看齉龘的", False),
        ("齉", "这里看齉。", "看齉的", False),
        ("齉", "这里齉的。", "看齉的", False),
        ("齉", "这里有齉好。", "看齉的", True),
        ("齉龘", "这里看齉。", "看齉龘的", True),
        ("齉", "这里看路。", "看路比齉的", True),
        ("齉", "这里路线。", "看齉的路线", True),
        ("齉", "这里的路。", "看齉的路", True),
        ("齉", "这里看路。", "看路齉的", True),
        ("齉", "这里齉的。", "齉的", False),
        ("齉龘", "I ask Bolton. 这里", "看齉龘的", True),
        ("马丁", "因为, 红山楂, 很好", "看马丁的", True),
        ("a齉", "这里没有", "看a齉的", False),
        ("三齉", "这里没有", "看三齉的", False),
        ("马丁", "I ask Martin. 这里", "看马丁的", False),
        ("马丁", "the martin is here. 这里", "看马丁的", True),
    ]
)
def test_in_scripts_without_spaces_one_to_three_characters_may_be_new(word: str, reasoning: str, line: str, allowed: bool) -> None:
    assert is_allowed(word, reasoning, CHINESE, line=line) is allowed


def test_a_visible_name_in_latin_letters_may_be_transcribed() -> None:
    assert not is_allowed("马丁", "I ask Bolton.", CHINESE, line="看马丁的")
    assert is_allowed("马丁", "I ask Bolton.", f"{CHINESE} Bolton", line="看马丁的")


def test_a_korean_word_that_describes_is_allowed_unless_it_is_a_name_or_in_the_instructions() -> None:
    assert is_allowed("뷁뚫", "뷁뚫한 날", KOREAN, line="뷁뚫")
    assert not is_allowed("뷁뚫", "뷁뚫 날", KOREAN, line="뷁뚫")
    assert not is_allowed("뷁뚫", '뷁뚫한 날, "뷁뚫"', KOREAN, line="뷁뚫")
    assert not is_allowed("뷁뚫", "뷁뚫한 날", KOREAN, "뷁뚫 금지.", line="뷁뚫")
    assert not is_allowed("뷁뚫퉭", "뷁뚫퉭한 날", KOREAN, "뷁뚫 금지.", line="뷁뚫퉭")


def test_a_korean_word_must_not_sound_like_a_hidden_name() -> None:
    assert not is_allowed("가나다", "I ask Kanata.", KOREAN, line="가나다")
    assert is_allowed("가나다", "I ask Bolton.", KOREAN, line="가나다")


@pytest.mark.parametrize(
    ("word", "reasoning"), [("natalya", "Наталья is here."), ("lihong", "这里有李红。"), ("matildah", "We ask Mathilda.")]
)
def test_a_new_word_must_not_sound_like_a_hidden_name(word: str, reasoning: str) -> None:
    assert not is_allowed(word, reasoning), word
    assert is_allowed("puddles", reasoning)


def test_a_new_word_must_look_like_a_word_of_the_language() -> None:
    new_words._triples.cache_clear()
    assert is_allowed("puddles") and not is_allowed("pxddlqs")
    assert is_allowed("marmotwigs") and not is_allowed("gondolwigs"), "seven tenths of its triples, with its end, are those of words"
    assert is_allowed("pfutze", seen=GERMAN), "the lists of each language count"
    assert is_allowed("landscapings") and not is_allowed("lan\u0142dscapings")
