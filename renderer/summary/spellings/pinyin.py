"""Detects Chinese that is written in Latin letters, by the initial sounds of its characters."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

# GB 2312 is ordered by sound: these are the first characters for each initial letter. No sound begins with i, u or v.
_FIRSTS = tuple(
    zip((sign.encode("gb2312") for sign in "啊芭擦搭蛾发噶哈击喀垃妈拿哦啪期然撒塌挖昔压匝"), "abcdefghjklmnopqrstwxyz", strict=True)
)
_LAST = bytes.fromhex("d7f9")
_HAN = re.compile("[\u4e00-\u9fff]+")
_SYLLABLE = (
    "(?:(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?(?:iang|iong|uang|ueng|ang|eng|ing|ong|iao|ian|uai|uan|ai|ei|ao|ou|an|en|in|un|ia|ie|iu|ua|uo|"
    "ui|ue|ve|er|a|o|e|i|u|v))"
)
_WORD = re.compile(f"{_SYLLABLE}+")
_SYLLABLES = re.compile(_SYLLABLE)
_UNKNOWN = "?"
_MIN_FROM_SINGLE = 4


def firsts(text: str) -> set[str]:
    """The initial letters of the Chinese characters of ``text``, for each pair of adjacent characters and for each character."""
    letters = ("".join(map(_first, run)) for run in _HAN.findall(text))
    return {part for row in letters for part in (*row, *map("".join, pairwise(row)))}


def may_spell_name(word: str, known: set[str]) -> bool:
    """Whether a folded Latin word may be a name with these initials (``firsts``)."""
    if not known or not _WORD.fullmatch(word):
        return False
    row = "".join(syllable[0] for syllable in _SYLLABLES.findall(word))
    if len(row) == 1:
        return len(word) >= _MIN_FROM_SINGLE and (row in known or _UNKNOWN in known)
    return all(_is_known(one, other, known) for one, other in pairwise(row))


def _is_known(one: str, other: str, known: set[str]) -> bool:
    return any(pair in known for pair in (one + other, one + _UNKNOWN, _UNKNOWN + other, _UNKNOWN + _UNKNOWN))


@lru_cache(maxsize=4096)
def _first(sign: str) -> str:
    code = sign.encode("gb2312", "ignore")
    if not _FIRSTS[0][0] <= code <= _LAST:
        return _UNKNOWN
    return max((begin, letter) for begin, letter in _FIRSTS if begin <= code)[1]
