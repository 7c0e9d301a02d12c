"""Finds keys, codes, markers and numbers in a line of a reasoning summary."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from renderer.summary import disguises
from renderer.summary.index import LONG_WORD, SeenText

_MAX_WORD_CHARS = 28
_MAX_LETTERS_APART = 4
_MAX_NUMBERS = 300
_VOWELS = re.compile("[aeiouy]")


def contains_secret(line: str, seen: SeenText) -> bool:
    """Whether ``line`` contains a key, code or number that is not in the visible text. A single digit counts: many lines could spell a
    number.
    """
    words = disguises.words(line)
    if sum(len(word) == 1 and word.isascii() and word.isalpha() for word in words) > _MAX_LETTERS_APART:
        return True
    return any(_is_opaque(token) for token in line.split() if not _is_known(token, seen))


def _is_known(token: str, seen: SeenText) -> bool:
    """Whether it is in the visible text. A person who sends every possible number still does not know which one is hidden."""
    if len(seen.numbers) > _MAX_NUMBERS and any(map(str.isdigit, token)):
        return False
    return _parts(token) <= seen.parts


def _parts(token: str) -> set[str]:
    """The words of a token. In "17\u304c" the number and what follows it are two: only the number must be visible."""
    return {part for word in disguises.words(token) for part in _ascii_parts(word)}


def _ascii_parts(word: str) -> list[str]:
    return [part for part in disguises.split_by_spacing(word) if part.isascii()] if disguises.unspaced(word) else [word]


def _is_opaque(token: str) -> bool:
    letters = "".join(filter(str.isalnum, token))
    if any(unicodedata.category(sign) in ("Nl", "No") for sign in token):
        return True
    if not letters.isascii():
        return any(map(str.isdigit, letters))
    has_digit = any(map(str.isdigit, letters))
    is_odd_case = any(one.islower() and other.isupper() for one, other in pairwise(token))
    is_shouted = len(letters) >= LONG_WORD and letters.isupper()
    vowels = len(_VOWELS.findall(letters.lower()))
    is_random = (len(letters) >= 8 and vowels / len(letters) < 0.15) or (len(letters) >= LONG_WORD and not vowels)
    return has_digit or is_odd_case or is_shouted or is_random or len(letters) > _MAX_WORD_CHARS
