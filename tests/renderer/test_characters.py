"""Characters that nobody can see: one table, whether they are dropped, replaced or shown."""

import unicodedata
from collections.abc import Iterable
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatui.display.folders import clean_name
from chatui.documents.inside import html
from chatui.skeletons import folded
from chatui.store import file_names
from chatui.tools.remote.offers import cleaned
from renderer.characters import MAX_MARKS, drop, escape, is_invisible, is_seen, one_line, replace, storable
from tests.support import document_files
from tests.support.cases import EVERY_SHAPE, for_each
from tests.support.downloads import name_of
from tests.support.titles import title_in

UNSEEN = [
    *("\x00", "\x1b", "\x9b", "\xad", "\u034f", "\u061c", "\u115f", "\u17b4", "\u180e", "\u200b", "\u200d", "\u202e", "\u2066", "\u2800"),
    *("\u3164", "\ufe0f", "\ufeff", "\uffa0", "\ue000", "\ud800", "\U000e0041", "\U000e0101"),
]
CLEANERS = {
    "a document": document_files.cleaned,
    "a web page": html.clean,
    "a file's name": file_names.clean,
    "a download's name": name_of,
    "a folder's name": lambda text: clean_name(text),
    "a title": title_in,
    "a tool's description": lambda text: cleaned(text, 100),
    "a user name, to compare": folded,
}


@pytest.mark.parametrize("name", CLEANERS)
def test_all_cleaners_drop_the_same_characters(name: str) -> None:
    kept = [f"{ord(each):x}" for each in UNSEEN if CLEANERS[name](f"pass{each}word") != "password"]
    assert kept == []


@for_each(UNSEEN)
def test_an_invisible_character_is_dropped_replaced_or_shown(unseen: str) -> None:
    text = f"pass{unseen}word"
    assert is_invisible(unseen) and not is_seen(unseen)
    assert drop(text) == one_line(text) == replace(text, "") == "password" and replace(text, "?") == "pass?word"
    assert escape(text).startswith("pass\\u") and not any(map(is_invisible, escape(text)))


def test_what_a_person_can_see_stays() -> None:
    text = "a\tb\n<|start|>assistant<|channel|>final<|message|>日本語 العربية \u06dd 👍 \U0001fae9\n"
    assert drop(text) == text and one_line(text) == " ".join(text.split())


FAMILY = "\U0001f469\U0001f3fd\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
EMOJI = {
    "a family with a skin tone": FAMILY,
    "a couple": "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f468",
    "a person who nods": "\U0001f642\u200d\u2195\ufe0f",
    "a runner": "\U0001f3c3\U0001f3ff\u200d\u2640\ufe0f\u200d\u27a1\ufe0f",
    "two people": "\U0001f9d1\U0001f3fb\u200d\U0001f91d\u200d\U0001f9d1\U0001f3ff",
    "the rainbow flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "a black bird": "\U0001f426\u200d\u2b1b",
    "the flag of Scotland": SCOTLAND,
    "the flag of Korea": "\U0001f1f0\U0001f1f7",
    "a waving hand": "\U0001f44b\U0001f3fd",
    "a keycap": "1\ufe0f\u20e3",
    "newer than Python": "\U0001fae8 \U0001fae9",
}


@for_each([*EMOJI.values(), "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0915\u094d\u200d\u0937"])
def test_an_emoji_and_a_word_with_a_joiner_stay_whole_in_a_line(text: str) -> None:
    assert one_line(text) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\u202eb\u202c\u2066\u2069\u200e\u200f\u061c", "ab"),
        ("\u200dWork\u200d \u200cat home\u200c", "Work at home"),
        ("e\u200dx\u200de", "exe"),
        ("\U0001f469\u200d\u200d\U0001f467\u200d", "\U0001f469\U0001f467"),
        ("\U0001f3f4\U000e0068\U000e0069\U000e007f", "\U0001f3f4"),
        (SCOTLAND + "\U000e0061\U000e007f", SCOTLAND),
        ("\u2764\ufe0f\ufe0f\ufe0e", "\u2764\ufe0f"),
        ("a" + "\u0300" * 159 + "b", "\u00e0" + "\u0300" * MAX_MARKS + "b"),
        (" \x00\x1b[2Jc\r\n\td\u3000e\u2028f ", "[2Jc d e f"),
    ],
)
def test_a_line_keeps_nothing_else_that_is_invisible(text: str, line: str) -> None:
    assert one_line(text) == line


@given(st.text(alphabet="ax .\u200d\u200b\u202e\ufe0f\U0001f469\U0001f3fd\U0001f1f0\U0001f3f4\U000e0067\u0301\u0915\u094d", max_size=90))
def test_cleaning_again_changes_nothing_and_a_joiner_has_neighbours(text: str) -> None:
    line = one_line(text)
    assert one_line(line) == line and drop(drop(text)) == drop(text)
    assert not set(line) & set("\u200b\u202e\U000e0067")
    assert "\u200d\u200d" not in line and not line.startswith("\u200d") and not line.endswith("\u200d")


@for_each([
    ("plain text, ümläut, 漢字, שלום, 😀\n\tsecond line", "plain text, ümläut, 漢字, שלום, 😀\n\tsecond line"),
    ("a\u202eb", "a\\u202eb"),
    ("a" + "\u0301" * 7 + "b\u0301", "a" + "\u0301" * 5 + "\\u0301" * 2 + "b\u0301"),
    ("\x00\x1b[31m\r\x7f", "\\u0000\\u001b[31m\\u000d\\u007f"),
    ("\U000e0041\U000e0042", "\\udb40\\udc41\\udb40\\udc42"),
    ("\u00a0\u2028\u2029\ufeff\ue000\ud800", "\\u00a0\\u2028\\u2029\\ufeff\\ue000\\ud800"),
])  # fmt: skip
def test_invisible_characters_are_shown_as_codes(text: str, expected: str) -> None:
    assert escape(text) == expected


@for_each([
    ("\u26a0\ufe0f \U0001f469\u200d\U0001f4bb or \u2764\ufe0f?", "\u26a0\ufe0f \U0001f469\u200d\U0001f4bb or \u2764\ufe0f?"),
    ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
    ("a\u200db\u202e\ufe0f \u2764\ufe0f\ufe0f", "a\\u200db\\u202e\\ufe0f \u2764\ufe0f\\ufe0f"),
    ("\U0001f3f4\U000e0041\U000e007f", "\U0001f3f4\\udb40\\udc41\\udb40\\udc7f"),
    ("a" + "\u0301" * 6, "a" + "\u0301" * 5 + "\\u0301"),
])  # fmt: skip
def test_in_words_to_read_emoji_stay_whole(text: str, expected: str) -> None:
    assert escape(text, is_prose=True) == expected


def characters() -> Iterable[int]:
    """All characters; in the short form without the middle of long ranges: Chinese, Korean, private-use and unassigned characters."""
    if EVERY_SHAPE:
        return range(0x110000)
    rows = [(0, 0x3400), (0xA000, 0xAC00), (0xD700, 0xE100), (0xF800, 0x20000), (0xDFF00, 0xE1100), (0x10FF00, 0x110000)]
    return chain(*(range(*row) for row in rows))


def test_no_character_of_a_hidden_category_gets_through() -> None:
    shown = escape("".join(map(chr, characters())))
    kinds = {unicodedata.category(char) for char in shown if char not in " \n\t"}
    assert not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("", ""),
        ("a\x00b", "a\ufffdb"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\U0001f600\uffff", "\U0001f600\uffff"),
        ("\ud800", "\ufffd"),
        ("a\udfffb\x00", "a\ufffdb\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        ("\udbff\udfff\ud800", "\U0010ffff\ufffd"),
    ],
)
def test_nul_and_lone_surrogates_are_replaced_and_pairs_are_joined(text: str, stored: str) -> None:
    assert storable(text) == stored
