"""Extracts the letters that summary lines may spell out: first and last letters, single letters, and words that stand for letters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from renderer.summary import disguises

_MIN_CHARS, _MIN_CHARS_OF_MANY = 4, 5
_MAX_SINGLE = 3
_MAX_BINARY = 7
_PHONETIC = frozenset(
    [
        "alpha",
        "alfa",
        "bravo",
        "charlie",
        "delta",
        "echo",
        "foxtrot",
        "golf",
        "hotel",
        "india",
        "juliet",
        "juliett",
        "kilo",
        "lima",
        "mike",
        "november",
        "oscar",
        "papa",
        "quebec",
        "romeo",
        "sierra",
        "tango",
        "uniform",
        "victor",
        "whiskey",
        "xray",
        "yankee",
        "zulu",
        "anton",
        "berta",
        "casar",
        "dora",
        "emil",
        "friedrich",
        "gustav",
        "heinrich",
        "ida",
        "julius",
        "kaufmann",
        "ludwig",
        "martha",
        "nordpol",
        "otto",
        "paula",
        "quelle",
        "richard",
        "samuel",
        "theodor",
        "ulrich",
        "viktor",
        "wilhelm",
        "xanthippe",
        "ypsilon",
        "zacharias",
    ]
)
_BINARY = tuple(
    frozenset(pair.split()) for pair in ("dot dash", "short long", "left right", "yes no", "on off", "up down", "kurz lang", "links rechts")
)


def streams(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Each row of letters, with the length that a hidden name needs so that a match is not a coincidence."""
    by_line = [words for line in lines if (words := disguises.words(line))]
    every = [word for words in by_line for word in words]
    yield "".join(word[0] for word in every), _MIN_CHARS
    yield "".join(word[-1] for word in every), _MIN_CHARS_OF_MANY
    yield "".join(word[1:2] for word in every), _MIN_CHARS_OF_MANY
    yield "".join(word[0] for word in every if word in _PHONETIC), _MIN_CHARS
    yield "".join(word for word in every if len(word) == 1), _MIN_CHARS
    for place in (0, 1, 2, -1):
        yield "".join(words[place][0] for words in by_line if len(words) > place), _MIN_CHARS
    yield "".join(words[-1][-1] for words in by_line), _MIN_CHARS


def initials(lines: Sequence[str]) -> str:
    """The first letters of all words."""
    return "".join(word[0] for line in lines for word in disguises.words(line))


def has_spaced_letters(lines: Sequence[str], known: AbstractSet[str], stop_words: AbstractSet[str]) -> bool:
    """Whether these lines together have so many single letters, or so many of two opposite words, that they may encode a message."""
    every = [word for line in lines for word in disguises.words(line)]
    single = [
        word for word in every if len(word) == 1 and word.isascii() and word.isalpha() and word not in known and word not in stop_words
    ]
    return len(single) > _MAX_SINGLE or any(sum(word in pair for word in every) > _MAX_BINARY for pair in _BINARY)
