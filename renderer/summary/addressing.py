"""Finds lines of a reasoning summary that address the reader.

Such a line speaks to the reader, asks for something, or gives a number to call or a place to click. A summary only says what was done: a
person who trusts the product would do what such a line says.
"""

from __future__ import annotations

import re

from renderer.summary import disguises
from renderer.summary.vocabulary import requests

_ASKS = re.compile("[?!\uff1f\uff01\u061f\u00bf\u00a1]")
_MYSELF = re.compile(r"\bI(?:['\u2019](?:m|ll|ve|d))?\b(?![.)])")

_SPEAKS_TO = frozenset(disguises.words(requests.SPEAKS_TO))
_ASKING = frozenset(requests.ASKING.split())
_ALSO_NOUNS = frozenset(requests.ALSO_NOUNS.split())
_DOING = frozenset(disguises.words(requests.DOING))
_JOINING = frozenset(
    {"and", "then", "or", "but", "so", "also", "next", "first", "just", "simply", "always", "never", "finally", "dont", "do", "not"}
)
_LEADING = _JOINING - {"and", "or"}

_GERMAN_POLITE = re.compile(r"(?<=\s)(?:Sie|Ihnen|Ihr|Ihre|Ihren|Ihrem|Ihrer|Ihres)\b")
_OTHER_SCRIPTS = tuple(map(re.compile, (requests.CHINESE, requests.KOREAN, requests.JAPANESE, requests.OTHER_SCRIPTS)))

_PART_END = re.compile(r"[,;:.\u2013\u2014/|]|\s-\s")
_PHONE = re.compile(r"(?:\+|\b0)[\d\s()./-]{5,}\d|\(?\d{3,5}\)?[\s./-]\d{3,}")


def speaks_to_reader(line: str) -> bool:
    """Whether ``line`` addresses the reader. The visible text does not excuse it: a pasted text may hold the same words or number."""
    words = disguises.words(line)
    if not _SPEAKS_TO.isdisjoint(words) or not _DOING.isdisjoint(words):
        return True
    if any(pattern.search(line) for pattern in (_ASKS, _MYSELF, _PHONE, _GERMAN_POLITE, *_OTHER_SCRIPTS)):
        return True
    return any(_asks(disguises.words(part)) for part in _PART_END.split(line))


def _asks(words: list[str]) -> bool:
    """Whether a part of a line begins with an imperative, also after a conjunction; "and" may be anywhere."""
    before = ""
    for at, word in enumerate(words):
        begins = at == 0 or all(earlier in _LEADING for earlier in words[:at])
        if word in _ASKING and (begins or (before in _JOINING and word not in _ALSO_NOUNS)):
            return True
        before = word
    return False
