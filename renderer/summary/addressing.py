"""Finds summary lines that address the reader or judge somebody.

A line that addresses the reader asks for something, or names a number to call or something to click. A person who trusts the product might
do it, while a summary should only report what was done.
"""

from __future__ import annotations

import re

from renderer.summary import disguises, endings
from renderer.summary.index import SeenText
from renderer.summary.vocabulary import judgements, places, requests

_ASKS = re.compile("[?!\uff1f\uff01\u061f\u00bf\u00a1]")
_MYSELF = re.compile(r"\bI(?:['\u2019](?:m|ll|ve|d))?\b(?![.)])")

_SPEAKS_TO = frozenset(disguises.words(requests.SPEAKS_TO))
_ASKING = frozenset(requests.ASKING.split())
_CALLING = frozenset(requests.CALLING.split())
_ALSO_NOUNS = frozenset(requests.ALSO_NOUNS.split())
_DOING = frozenset(disguises.words(requests.DOING))
_JOINING = frozenset(
    {"and", "then", "or", "but", "so", "also", "next", "first", "just", "simply", "always", "never", "finally", "dont", "do", "not"}
)
_LEADING = _JOINING - {"and", "or"}

_GERMAN_POLITE = re.compile(r"(?<=\s)(?:Sie|Ihnen|Ihr|Ihre|Ihren|Ihrem|Ihrer|Ihres)\b")
_OTHER_SCRIPTS = tuple(map(re.compile, (requests.CHINESE, requests.KOREAN, requests.JAPANESE, requests.OTHER_SCRIPTS)))

_PLACES, _PLACES_AS_WRITTEN = re.compile(places.FOLDED), re.compile(places.RAW, re.IGNORECASE)
_PART_END = re.compile(r"[,;:.\u2013\u2014/|]|\s-\s")
_PHONE = re.compile(r"(?:\+|\b0)[\d\s()./-]{5,}\d|\(?\d{3,5}\)?[\s./-]\d{3,}")

_WHOLE = frozenset(judgements.WHOLE.split())
_BEGINNINGS = tuple(judgements.BEGINNINGS.split())
_PARTS = re.compile(judgements.PARTS)


def addresses_reader(line: str, allowed: frozenset[str] = frozenset()) -> bool:
    """Whether ``line`` addresses the reader; ``allowed``: the languages that it may be in, as "du" is an article in French.

    Words in the visible text are not an exception: a pasted text may contain the same words or number.
    """
    words = disguises.words(line)
    if "French" in allowed and "German" not in allowed:
        words = [word for word in words if word != "du"]
    if not _SPEAKS_TO.isdisjoint(words) or not _DOING.isdisjoint(words):
        return True
    joined = " ".join(words)
    if any(phrase in joined for phrase in requests.PLEADING) or _PLACES.search(joined) or _PLACES_AS_WRITTEN.search(line):
        return True
    if any(pattern.search(line) for pattern in (_ASKS, _MYSELF, _PHONE, _GERMAN_POLITE, *_OTHER_SCRIPTS)):
        return True
    # In other languages the word is a noun.
    none = frozenset({"text"}) if "English" not in allowed else frozenset()
    first, *others = map(disguises.words, _PART_END.split(line))
    # Only a whole line says "And open it"; a part may be "and open questions".
    return _asks(first, none, _JOINING) or any(_asks(part, none, _LEADING) for part in others)


def _asks(words: list[str], none: frozenset[str], leading: frozenset[str]) -> bool:
    """Whether a part of a line begins with an imperative, also after ``leading`` words; "and" may be anywhere."""
    if words and words[0] in _CALLING:
        return True
    before = ""
    for at, word in enumerate(words):
        begins = at == 0 or all(earlier in leading for earlier in words[:at])
        if word in _ASKING - none and (begins or (before in _JOINING and word not in _ALSO_NOUNS)):
            return True
        before = word
    return False


def judges_somebody(line: str, seen: SeenText) -> bool:
    """Whether ``line`` has a judging word that is not in the visible text. A summary describes work, and judging is not work."""
    for word in disguises.words(line):
        if (word in _WHOLE or word.startswith(_BEGINNINGS)) and word not in seen.words and endings.forms(word).isdisjoint(seen.forms):
            return True
    return any(not _is_visible(found[0], seen) for found in _PARTS.finditer(line))


def _is_visible(part: str, seen: SeenText) -> bool:
    return not part.isascii() and len(part) > 1 and all(part[at : at + 2] in seen.pairs for at in range(len(part) - 1))
