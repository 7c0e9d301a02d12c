"""Normalizes text for the leak guard: look-alike characters and escapes become the characters that a reader sees, with their positions."""

from __future__ import annotations

import html
import re
import string
import unicodedata
from collections.abc import Iterable

ZERO = "\u200b"
"""Replaces invisible characters, and pads longer escapes so that positions stay the same."""

_ANGLES_OPEN = "\u2039\u3008\u27e8\ufe64\u2329\u276c\u276e\u2770"
_ANGLES_CLOSE = "\u203a\u3009\u27e9\ufe65\u232a\u276d\u276f\u2771"
_BARS = "\u2223\u2502\uffe8\u01c0\u2758"
_FILLERS = "\u115f\u1160\u3164\uffa0"
_MAX_CACHED = 20_000
_CYRILLIC = dict(zip("\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0455\u04bb\u0501\u03bf\u03bd", "aeopcxyishdov", strict=True))


class _Looks(dict[int, str]):
    """The character that each character looks like, computed at its first use."""

    def __missing__(self, code: int) -> str:
        looks = _look(chr(code))
        if len(self) < _MAX_CACHED:
            self[code] = looks
        return looks


def _look(character: str) -> str:
    if character in "\t\n\r":
        return character
    if unicodedata.category(character) in ("Cf", "Mn", "Me", "Cc") or character in _FILLERS:
        return ZERO
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 and plain.isascii() else character


_LOOKS = _Looks(
    {
        **dict.fromkeys(map(ord, _ANGLES_OPEN), "<"),
        **dict.fromkeys(map(ord, _ANGLES_CLOSE), ">"),
        **dict.fromkeys(map(ord, _BARS), "|"),
        ord("\u2581"): "_",
    }
)
# A letter of another script inside a Latin word; words of that script are not changed.
_FOREIGN = re.compile(rf"(?<=[A-Za-z])[{''.join(_CYRILLIC)}]+|[{''.join(_CYRILLIC)}]+(?=[A-Za-z])")
# Neither line ends nor backticks: only literal characters delimit code.
_UNESCAPED = frozenset(string.ascii_letters + string.digits + "<>|/[]{}_:=\"'-().")
# Longer names first: the semicolon at the end may be missing.
_NAMES = "lt|gt|VerticalLine|verbar|vert|sol|lsqb|rsqb|lbrack|rbrack|lowbar|colon"
_ESCAPE = re.compile(
    rf"&(?:amp;){{0,4}}(?P<named>{_NAMES}|\#0{{0,6}}\d{{2,3}}|\#x0{{0,6}}[0-9a-f]{{2}});?"
    r"|\\{1,8}(?:u00|x)(?P<hexadecimal>[2-7][0-9a-f])",
    re.IGNORECASE,
)
BEGUN = re.compile(r"(?:\\+(?:u0{0,2}[2-7]?|x[2-7]?)?|&(?:amp;){0,4}(?:[a-z]{0,12}|\#x?[0-9a-f]{0,9}))\Z", re.IGNORECASE)
"""The beginning of an escape at the end of a text."""
_PLAIN = re.compile(r"[^&\\\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*")


def folded(text: str) -> str:
    """``text`` with each look-alike and each escape replaced; positions do not change."""
    if text.isascii() and _PLAIN.fullmatch(text):
        return text
    return _ESCAPE.sub(_unescaped, _FOREIGN.sub(_latin, text.translate(_LOOKS)))


def _latin(match: re.Match[str]) -> str:
    return "".join(_CYRILLIC[letter] for letter in match[0])


def beginnings_of(words: Iterable[str]) -> frozenset[str]:
    """Every beginning of every word, from the empty text to the whole word."""
    return frozenset(word[:length] for word in words for length in range(len(word) + 1))


def bare(text: str) -> str:
    """Folded text without invisible characters."""
    return text.replace(ZERO, "")


def _unescaped(match: re.Match[str]) -> str:
    if named := match["named"]:
        known = named if named == "VerticalLine" else named.lower()
        character = html.unescape(f"&{known};")
    else:
        character = chr(int(match["hexadecimal"], 16))
    return character + ZERO * (len(match[0]) - 1) if character in _UNESCAPED else match[0]
