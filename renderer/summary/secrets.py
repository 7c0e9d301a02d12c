"""Finds in a line of a reasoning summary what looks like a key, a code, a marker or a number rather than like words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from renderer.summary import disguises
from renderer.summary.index import LONG_WORD, SHINGLE, SeenText, bare

_LONGEST_WORD = 28
_MOST_LETTERS_APART = 4
_MOST_NUMBERS = 300
_SCATTERED, _SCATTERED_BESIDE = 4, 3
_SPELLED_RUN, _SPELLED = 3, 4
_VOWELS = re.compile("[aeiouy]")
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen "
    "twenty thirty forty fifty sixty seventy eighty ninety null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf zwanzig "
    "deux trois quatre cinq sept huit neuf dix vingt uno dos tres cuatro cinco seis siete ocho nueve diez"
)
_LARGE_WORDS = "hundred thousand million billion hundert tausend cent mille cien ciento mil"
_LARGE = frozenset(_LARGE_WORDS.split())
_NUMBERS = _LARGE | frozenset(_NUMBER_WORDS.split())


def holds_secret(line: str, seen: SeenText) -> bool:
    """Whether ``line`` holds one that is not in the visible text. A number of one or two digits is none."""
    words = disguises.words(line)
    if sum(len(word) == 1 and word.isascii() and word.isalpha() for word in words) > _MOST_LETTERS_APART:
        return True
    if _spells_number(words, seen) or _scatters_digits(line, seen):
        return True
    return any(_is_opaque(token) for token in line.split() if not _is_known(token, seen))


def _is_known(token: str, seen: SeenText) -> bool:
    """Whether people have it from the visible text. Who sends all numbers that there are has been told none of them."""
    if len(seen.numbers) > _MOST_NUMBERS and any(map(str.isdigit, token)):
        return False
    return bare(token) in seen.tokens or set(disguises.words(token)) <= seen.words


def _spells_number(words: Sequence[str], seen: SeenText) -> bool:
    """A number or code in words: three in a row, two with a large one, or four altogether. Smaller ones are none."""
    run, is_large, new = 0, False, 0
    for word in words:
        if word in _NUMBERS:
            new += word not in seen.words
            run, is_large = run + 1, is_large or word in _LARGE
        elif word != "and":
            run, is_large = 0, False
        if new and (run >= _SPELLED_RUN - is_large or new >= _SPELLED):
            return True
    return False


def _scatters_digits(line: str, seen: SeenText) -> bool:
    """A number that is told a digit or two at a time: three side by side, or four anywhere."""
    new = beside = 0
    for token in line.split():
        digits = sum(map(str.isdigit, token))
        beside = beside + digits if digits else 0
        if digits and not _is_known(token, seen):
            new += digits
            if beside > digits and beside >= _SCATTERED_BESIDE:
                return True
    return new >= _SCATTERED


def _is_opaque(token: str) -> bool:
    letters = "".join(filter(str.isalnum, token))
    if not letters.isascii():
        return any(map(str.isdigit, letters)) and not disguises.wide(letters) and len(letters) > SHINGLE - 1
    has_digit = any(map(str.isdigit, letters))
    is_odd_case = any(one.islower() and other.isupper() for one, other in pairwise(token))
    is_shouted = len(letters) >= LONG_WORD and letters.isupper()
    vowels = len(_VOWELS.findall(letters.lower()))
    is_random = (len(letters) >= 8 and vowels / len(letters) < 0.15) or (len(letters) >= LONG_WORD and not vowels)
    return (has_digit and len(letters) >= 3) or is_odd_case or is_shouted or is_random or len(letters) > _LONGEST_WORD
