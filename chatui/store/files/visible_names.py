"""Keeps the visible characters of a file name, and each emoji as a whole, also one that is made of several characters."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_JOINER = "\u200d"
_TONES = "\U0001f3fb-\U0001f3ff"
_FLAG_LETTERS = "\U0001f1e6-\U0001f1ff"
_TAGS = "\U000e0020-\U000e007f"
_SYMBOLS = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
_PICTURE = f"[{_SYMBOLS}\U0001f000-\U0001faff]"
_PICTURES = re.compile(_PICTURE)
_ONE = f"{_PICTURE}\ufe0f?[{_TONES}]?\ufe0f?"
# The only flags that fonts draw from invisible letters are those of England, Scotland and Wales. Others could hide text.
_REGIONS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))
_JOINED = re.compile(f"({_ONE}(?:{_JOINER}{_ONE})+|\U0001f3f4(?:{_REGIONS})\U000e007f)")
_CONTINUES = re.compile(f"[{_JOINER}\ufe0e\ufe0f\u20e3{_TONES}{_TAGS}]")
_FLAG_LETTERS_AT_END = re.compile(f"[{_FLAG_LETTERS}]+\\Z")
_FLAG_LETTER = re.compile(f"[{_FLAG_LETTERS}]")


def visible(name: str) -> str:
    """``name`` without invisible characters, and with a space for each white space character.

    Characters that change the writing direction can make ``exe.png`` look like ``gnp.exe``. A joiner stays only between two pictures.
    """
    parts = _JOINED.split(unicodedata.normalize("NFC", name))
    # The pattern has one group, so every second part is an emoji.
    return "".join(part if number % 2 else _without_invisible(part) for number, part in enumerate(parts))


def shortened(name: str, end: int) -> str:
    """At most the first ``end`` characters, without the beginning of an emoji or letter that would be cut."""
    cut = min(end, len(name))
    while 0 < cut < len(name) and _is_inside(name, cut):
        cut -= 1
    return name[: cut or end]


def _without_invisible(text: str) -> str:
    return "".join(" " if each.isspace() else each for each in text if each.isspace() or _is_visible(each))


def _is_visible(character: str) -> bool:
    # Python may not know the newest emoji yet.
    return unicodedata.category(character) not in _INVISIBLE or _PICTURES.match(character) is not None


def _is_inside(name: str, cut: int) -> bool:
    """Whether ``cut`` is between two characters that are shown as one."""
    after = name[cut]
    if name[cut - 1] == _JOINER or _CONTINUES.match(after) or unicodedata.combining(after):
        return True
    letters = _FLAG_LETTERS_AT_END.search(name[:cut])
    return letters is not None and len(letters[0]) % 2 == 1 and _FLAG_LETTER.match(after) is not None
