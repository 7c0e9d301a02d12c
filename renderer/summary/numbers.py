"""Finds hidden numbers in summary lines: as words, as counts, or built up over several lines."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from renderer.summary import disguises, languages
from renderer.summary.index import HiddenText, SeenText
from renderer.summary.number_words import COUNTED, SMALL_NUMBERS, small_numbers
from renderer.summary.spellings import digits

MAX_SMALL = 1
"""The most small numbers in words ("three ways") that all lines together may contain without being visible. A code needs more."""
_MAX_ALIKE = 2
_KOREAN_TENS = re.compile("(?:열|스물|서른|마흔|쉰|예순|일흔|여든|아흔)(?:하나|한|둘|두|셋|세|넷|네|다섯|여섯|일곱|여덟|아홉)")
_MAX_PUNCTUATION = 8
_PUNCTUATION_RUN = re.compile(r"([^\w\s])\1\1|(?:[^\w\s]\s*){4}")


def may_encode_count(line: str) -> bool:
    """Whether ``line`` repeats a word or a character so often that the count could be the message."""
    every = disguises.words(line)
    alike = Counter(word for word in every if word not in languages.STOP_WORDS)
    if max(alike.values(), default=0) > _MAX_ALIKE or any(one == other for one, other in pairwise(every)):
        return True
    signs = sum(unicodedata.category(character)[0] in "PS" for character in line)
    return signs > _MAX_PUNCTUATION or _PUNCTUATION_RUN.search(line) is not None


def reveals_small_number(lines: Iterable[str], hidden: HiddenText, seen: SeenText) -> bool:
    """Whether these lines together have too many small numbers in words, or one that is in the hidden text."""
    small_values = [value for line in lines for value in _unseen_small(line, seen)]
    return len(small_values) > MAX_SMALL or not hidden.small_numbers.isdisjoint(small_values)


def reveals_korean_number(line: str, seen: SeenText) -> bool:
    """Whether it has a Korean number word of ten or more that is not visible. Its parts also have other meanings."""
    found = (found[0] for word in disguises.words(line) for found in _KOREAN_TENS.finditer(word))
    return any(not any(word.startswith(number) for word in seen.words) for number in found)


def _unseen_small(line: str, seen: SeenText) -> list[int]:
    words = disguises.words(line)
    small_values = [SMALL_NUMBERS[word] for word in words if word in SMALL_NUMBERS and word not in seen.words]
    counted = (found[0] for word in words for found in COUNTED.finditer(disguises.unspaced(word)))
    return small_values + [value for pair in counted if pair not in seen.pairs for value in small_numbers(pair)]


def reveals_number_together(lines: Sequence[str], hidden: HiddenText, seen: SeenText) -> bool:
    """Whether visible numbers, joined over all lines, or the lengths of words form part of a hidden number.

    Each number may be visible, but their order is the message ("44 steps", "17 notes").
    """
    return not (digits.spelled(lines) & hidden.digits).issubset(seen.digits) or digits.counts_in_shapes(lines, seen.words)
