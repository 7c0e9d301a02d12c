"""Which characters nobody can see, in one table, and what is done with them: they are dropped, replaced or shown as escapes. Also which no
database or UTF-8 takes, and that these are replaced.

Such characters carry hidden text (tags, variation selectors), make two names look alike, or show text in another order than it has
(Trojan Source, CVE-2021-42574).
"""

from __future__ import annotations

import json
import re
import unicodedata

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What no page or terminal shows as text: control characters other than tabs and line breaks, and lone surrogates."""
DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Embeddings, overrides and isolates: they reorder the text that follows, so that it looks different from what it is."""

MOVING = re.compile(f"{CONTROLS.pattern}|{DIRECTIONS.pattern}")
"""What would move the cursor of a terminal, or reverse text."""

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Letters, marks and symbols without ink: the rest of Unicode's Default_Ignorable_Code_Point, which Python's tables lack, and U+2800.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_JOINERS = "\u200c\u200d"
_TONE = "[\U0001f3fb-\U0001f3ff]"
_SYMBOLS = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
_PICTURE = f"[{_SYMBOLS}\U0001f000-\U0001faff]"
_ONE = f"{_PICTURE}(?:\ufe0f|{_TONE})?"
# The only flags that fonts draw from invisible letters are those of England, Scotland and Wales. Others could hide text.
_REGIONS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))
_EMOJI = re.compile(f"(\U0001f3f4(?:{_REGIONS})\U000e007f|[0-9#*]\ufe0f\u20e3|{_ONE}(?:\u200d{_ONE})*)")
# Visible, though Unicode calls them format characters (Arabic and Kaithi number signs), or Python may not know them yet (new emoji).
_VISIBLE = re.compile(f"[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]|{_PICTURE}")
_KEPT = "\n\t\u2028\u2029"


def is_invisible(character: str) -> bool:
    """Whether nobody can see this character, or could tell it from another. White space other than control characters does not count."""
    return unicodedata.category(character) in _INVISIBLE or _BLANK.match(character) is not None


def is_seen(text: str) -> bool:
    """Whether at least one character of ``text`` is visible by itself."""
    return any(unicodedata.category(each)[0] not in "ZM" and not is_invisible(each) for each in text)


def drop(text: str) -> str:
    """``text`` without invisible characters; line ends and tabs stay. Emoji fall apart into their pictures, which models read as well."""
    unseen = {ord(each): None for each in set(text) if is_invisible(each) and each not in _KEPT and not _VISIBLE.match(each)}
    return text.translate(unseen) if unseen else text


def replace(text: str, replacement: str) -> str:
    """``text`` with ``replacement`` for each invisible character."""
    return "".join(replacement if is_invisible(each) else each for each in text)


def one_line(text: str) -> str:
    """``text`` in one line, as names and titles are stored: in normalization form C, with single spaces, without invisible characters, and
    with at most MAX_MARKS on one letter, because more would cover the lines around it.

    An emoji of several characters stays whole. A joiner stays between two letters of the scripts that need it.
    """
    parts = _EMOJI.split(unicodedata.normalize("NFC", text))
    # The pattern has one group, so every second part is an emoji.
    return " ".join("".join(part if number % 2 else _without_invisible(part) for number, part in enumerate(parts)).split())


def safe_for_terminal(text: str) -> str:
    """``text`` with what would move the cursor or reverse text written like ``\\x1b``. A stream may be cut anywhere."""
    return MOVING.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def escape(text: str, *, is_prose: bool = False) -> str:
    """``text`` with every invisible character as a JSON escape, such as ``\\u202e``. Line breaks, tabs and ordinary spaces stay.

    Many marks on one letter would cover the lines around it, so only the first MAX_MARKS stay. ``is_prose``: it is words to read, not
    a value to compare: what ``one_line`` keeps of emoji and joiners stays.
    """
    needed = _needed(text) if is_prose and not text.isascii() else frozenset()
    shown, marks = [], 0
    for index, each in enumerate(text):
        if index in needed:
            shown.append(each)
            continue
        marks = marks + 1 if unicodedata.category(each) in ("Mn", "Me") else 0
        is_blank = each not in " \n\t" and (is_invisible(each) or each.isspace())
        shown.append(_escape(each) if marks > MAX_MARKS or is_blank else each)
    return "".join(shown)


def _needed(text: str) -> frozenset[int]:
    """The places of characters that belong to an emoji, and of joiners between two letters of the scripts that need them."""
    emoji = {place for found in _EMOJI.finditer(text) for place in range(*found.span())}
    around = enumerate(zip(text, text[1:], text[2:], strict=False), start=1)
    return frozenset(emoji | {place for place, (a, each, b) in around if each in _JOINERS and takes_joiner(a) and takes_joiner(b)})


MAX_MARKS = 5
"""More than any language puts on one letter."""


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 0x7E else f"\\u{ord(character):04x}"


def _without_invisible(text: str) -> str:
    spaced = "".join(" " if each.isspace() else each for each in text)
    kept = "".join(each for each in spaced if each in _JOINERS or not is_invisible(each) or _VISIBLE.match(each))
    around = zip(f" {kept}", kept, f"{kept[1:]} ", strict=False)
    allowed = (each for before, each, after in around if each not in _JOINERS or (takes_joiner(before) and takes_joiner(after)))
    shown, marks = [], 0
    for each in allowed:
        marks = marks + 1 if unicodedata.category(each) in ("Mn", "Me") else 0
        if marks <= MAX_MARKS:
            shown.append(each)
    return "".join(shown)


def takes_joiner(character: str) -> bool:
    """Whether it is a letter, or a mark on one, of a script that may need joiners. Latin letters do not."""
    is_letter = unicodedata.category(character)[0] in "LM" and not is_invisible(character)
    return is_letter and not unicodedata.name(character, "").startswith("LATIN")


_HIGH, _LOW = "[\ud800-\udbff]", "[\udc00-\udfff]"
_UNSTORABLE, _LONE_SURROGATE = re.compile("[\x00\ud800-\udfff]"), re.compile(f"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}")


def storable(text: str) -> str:
    """``text`` without characters that a database or UTF-8 refuses: NUL and lone surrogates become U+FFFD."""
    if _UNSTORABLE.search(text) is None:
        return text
    # The decoder could replace lone ones too, but takes seconds for the 160,000 that fit into a megabyte of JSON.
    text = _LONE_SURROGATE.sub("\ufffd", text).encode("utf-16", "surrogatepass").decode("utf-16")
    return text.replace("\x00", "\ufffd")
