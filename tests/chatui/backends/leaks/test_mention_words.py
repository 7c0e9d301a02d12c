"""Every word and character that tells a mention from a sign has an effect: nouns, joining words, quotation marks, bullets.

They are written out here, so that none can disappear unnoticed.
"""

from __future__ import annotations

from chatui.backends.leaks.patterns import Sign, SignKind
from chatui.backends.leaks.prose import LOOK_AHEAD, is_mention
from tests.support.cases import for_each

NOUNS = """
    tag tags token tokens marker markers element elements block blocks section sections label labels delimiter delimiters markup wrapper
    wrappers pair pairs syntax format channel channels string strings prefix prefixes header headers sequence sequences symbol symbols mode
    node nodes Marke Marken Markierung Markierungen Blöcke Blöcken Abschnitt Abschnitte Zeichen Zeichenfolge balise balises jeton jetons
    marqueur marqueurs etiqueta etiquetas marcador marcadores bloque bloques marca marcas тег тегами токен токены блок блоки маркер
    маркера znacznik znaczniki 标签 標籤 标记 標記 令牌 タグ トークン マーカー 要素 태그 토큰 标识 Tag TOKEN
"""
JOINS = """
    , / | … ... - – — → -> + & 和 与 與 及 到 至 と や から 와 과 및 and or to through until then with und oder bis et ou à y o u e a и или
    до i lub och eller en of
"""
ARTICLES = "the a an das der le la el o"
ADJECTIVES = "closing opening special control end start stop reasoning thinking"
SIGNS = ("<b>", "\\<b>", f"<{'b' * 40}>", "[INST]", "[/INST]", "◁think▷", "◁/think▷")
QUOTES = "\"'“”„‘’«»「」*_`"
PAIRS = ('""', "''", "“”", "““", "””", "„“", "„”", "‘’", "‚‘", "‚’", "«»", "»«", "「」", "『』", "()", "**", "__", "[]", "{}", "``")
SPOKEN = "The text between {}<think>{}{} and before the final "


def verdict(line: str, after: str, kind: SignKind = SignKind.OPENING) -> bool:
    return is_mention(Sign(kind, "think", 0, 0), line, after)


def test_without_such_a_word_nothing_is_decided() -> None:
    assert [verdict("Hi ", " so"), verdict("Hi ", "SECRET"), verdict("Hi <b> ", " so")] == [False, False, False]


@for_each(NOUNS.split())
def test_a_noun_next_to_a_sign_names_it(noun: str) -> None:
    assert verdict("Hi ", f" {noun} so") is True
    assert verdict("Hi ", f"-{noun} so") is True
    assert verdict(f"So {noun} ", "x") is True
    assert verdict(f"So {noun}", "x") is True


@for_each(["tagged", "tokens_", "blocker", "modern", "stringent", "nodex", "Markenzeichen", "marcad", "so tag", "   tag"])
def test_other_words_after_a_sign_do_not_name_it(words: str) -> None:
    assert verdict("Hi ", f" {words} so") is False


@for_each(ADJECTIVES.split())
def test_a_noun_may_say_which_sign_it_is(word: str) -> None:
    assert verdict("Hi ", f" {word} tag so") is True


@for_each(["called ", "named ", "like ", "such as ", ": ", ":", "is ", "are "])
def test_a_noun_may_introduce_the_sign(words: str) -> None:
    assert verdict(f"So tag {words}", "x") is True
    assert verdict(f"So tag {words}so ", "x") is False


@for_each([*JOINS.split(), "followed by", "and then"])
def test_a_joining_word_links_two_signs(word: str) -> None:
    assert verdict("Hi ", f" {word} <b>") is True
    assert verdict(f"Hi <b> {word} ", " so") is True
    assert verdict(f"Hi <b> {word} ", "SECRET") is False


@for_each([",", "/", "|", "…", "...", "-", "–", "—", "→", "->", "+", "&", "和", "と", "와"])
def test_a_joining_sign_needs_no_space(join: str) -> None:
    assert verdict("Hi ", f"{join}<b>") is True


def test_joining_words_may_follow_a_comma() -> None:
    assert verdict("Hi ", ", and <b>") is True
    assert verdict("Hi ", "and <b>") is False


@for_each(ARTICLES.split())
def test_an_article_may_precede_the_second_sign(article: str) -> None:
    assert verdict("Hi ", f" and {article} <b>") is True
    assert verdict(f"Hi <b> and {article} ", " so") is True


@for_each(SIGNS)
def test_each_form_of_sign_is_linked(sign: str) -> None:
    assert verdict("Hi ", f" and {sign}") is True
    assert verdict(f"Hi {sign} and ", " so") is True
    assert verdict(SPOKEN.format("", "", "").replace("<think>", sign), " is hidden", SignKind.CLOSING) is True


@for_each([f"<{'b' * 41}>", "[IN]", f"[{'B' * 13}]", "[1234]", "<>", "◁▷", "b"])
def test_other_words_are_not_linked(words: str) -> None:
    assert verdict(f"Hi {words} and ", " so") is False


@for_each(["<|", "</", "\\<|", "\\</"])
def test_the_beginning_of_a_sign_is_linked(begun: str) -> None:
    assert verdict("Hi ", f" and {begun}") is True


@for_each(QUOTES)
def test_words_beside_a_quoted_sign_count(quote: str) -> None:
    assert verdict("Hi ", f"{quote} tag so") is True
    assert verdict(f"So tag {quote}", "x") is True
    assert verdict("Hi ", f"{quote} and <b>") is True
    assert verdict("Hi ", f" and {quote}<b>") is True
    assert verdict(f"Hi <b>{quote} and ", " so") is True
    assert verdict(f"Hi <b> and {quote}", " so") is True
    assert verdict(SPOKEN.format(quote, "", ""), " is hidden", SignKind.CLOSING) is True
    assert verdict(SPOKEN.format("", quote, ""), " is hidden", SignKind.CLOSING) is True


@for_each(".,; ")
def test_a_sentence_may_go_on_after_the_opening_sign_that_it_speaks_of(mark: str) -> None:
    assert verdict(SPOKEN.format("", "", mark), " is hidden", SignKind.CLOSING) is True


@for_each([*(f" {letter}" for letter in "azàöøÿαωая"), *".,;:!?)"])
def test_a_sentence_goes_on_after_the_closing_sign_that_it_speaks_of(after: str) -> None:
    assert verdict(SPOKEN.format("", "", ""), f"{after} so", SignKind.CLOSING) is True


@for_each([" A", " 1", " ÷", "/", "x", "  so"])
def test_anything_else_after_the_closing_sign_may_be_the_answer(after: str) -> None:
    assert not verdict(SPOKEN.format("", "", ""), after, SignKind.CLOSING)


@for_each(PAIRS)
def test_each_pair_of_quotation_marks_quotes_a_sign(pair: str) -> None:
    for kind in (SignKind.OPENING, SignKind.CLOSING, SignKind.SPECIAL, SignKind.WRAPPER, SignKind.COLLAPSED):
        assert verdict(f"Hi {pair[0]}", f"{pair[1]} so", kind) is True


@for_each(["...", "…", " ... ", " … ", "x", " x ", "x" * 12, ""])
def test_a_quoted_pair_of_tags_has_next_to_nothing_inside(inside: str) -> None:
    assert verdict('"', f'{inside}</think>"') is True
    assert verdict('"', f'{inside}\\</think>"') is True


def test_a_quoted_pair_ends_with_its_own_quotation_mark() -> None:
    assert [verdict('"', f"{inside}</think>'") for inside in ("x", " x ", "")] == [False, False, False]


@for_each(["x" * 13, "X", "x y", "  ...", "...  ", "4", "......"])
def test_a_quoted_pair_with_more_inside_is_none(inside: str) -> None:
    assert not verdict('"', f'{inside}</think>"')


@for_each([("b" * 30, True), ("b" * 31, False), ("b2", True), ("b", False), ("a:b", True), ("a-b", True), ("a b", False)])
def test_a_quoted_pair_ends_with_a_closing_tag(name: str, is_mentioned: bool) -> None:
    assert verdict('"', f'</{name}>"') is is_mentioned


@for_each(["-", "*", "+", "•", "1.", "1)", "123.", "|", "  - ", "\t*"])
def test_a_sign_after_a_bullet_is_explained(bullet: str) -> None:
    assert [verdict(f"{bullet} ", f"{mark}so it is") for mark in (": ", "|", "–", "—", "->", "→", "- ", "= ")] == [True] * 8
    assert [verdict(f"{bullet} ", f" {mark}so it is") for mark in (": ", "|", "–", "—", "->", "→", "- ", "= ")] == [True] * 8
    assert [verdict(f"{bullet} ", f"{text}{' ' * LOOK_AHEAD}") for text in (":so", "-so", "=so", "so", "  - so")] == [False] * 5


@for_each(["1234.", "1", "1,", "a.", "--"])
def test_other_beginnings_of_a_line_are_no_bullets(beginning: str) -> None:
    assert verdict(f"{beginning} ", " - so") is False


@for_each(".,;:!?)]。，、：；！？）")
def test_a_sign_at_the_end_of_a_sentence_is_mentioned(mark: str) -> None:
    assert [verdict(line, f"{mark} So") for line in ("Use ", "So, ", "This: ")] == [True] * 3
    assert [verdict(line, f"{mark} So") for line in ("Hi. ", "Hi! ", "Use  ", "Hi")] == [False] * 4


@for_each(",:/=|-–—、，：")
def test_a_special_token_is_mentioned_after_a_mark(mark: str) -> None:
    for kind in (SignKind.SPECIAL, SignKind.WRAPPER):
        assert verdict(f"Hi{mark}", " so", kind) is True
    assert [verdict(f"Hi{other}", " so", SignKind.SPECIAL) for other in "~.;x"] == [False] * 4


@for_each("~>#é")
def test_a_character_after_a_special_token_changes_nothing_unless_a_marker_begins_with_it(character: str) -> None:
    assert verdict("Hi ", character, SignKind.SPECIAL) is True
    assert verdict("Hi ", character, SignKind.COLLAPSED) is (character != "#")


def test_only_a_latin_letter_or_digit_directly_after_a_sign_continues_it() -> None:
    assert [verdict("Hi ", after) for after in ("x", "xé", "x.", "4.", "é", "éx", ".x")] == [False] * 6 + [True]
