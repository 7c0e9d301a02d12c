"""What counts as a word in a search, in every script: the words and terms of a text, and where a person's words occur in another.

A text is split into words, and these are folded: case and accents do not matter. A word of a script that is written with spaces is found by
its beginning. Soft hyphens and characters without width do not part a word; the parts between them are found, too. Chinese, Japanese, Thai
and similar scripts have no spaces: there a run of characters is split into pairs, so that any part of it is found.

Words are also found inside longer ones where a language writes them together: in Korean, and in words with a capital letter, which German
compounds have and hardly any long English word (``_inside``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

WORD_CHARS = 64
"""Longer words are compared by their first characters only."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text."""

    folded: str
    start: int
    """Where it begins in the text."""
    end: int
    """Where it ends in the text."""
    run: bool
    """Whether it is a run of characters of a script without spaces; those of ``folded`` and of the text then correspond one to one."""
    has_capital: bool = False
    """Whether it begins with a capital letter."""


@dataclass(frozen=True, slots=True)
class Term:
    """``inner``: with what the part of a longer word begins that has the term; empty for a term that is found only at a beginning."""

    text: str
    is_prefix: bool
    inner: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """The words that a person searches for; all of them must occur. Empty if they typed none. ``typed``: as they typed them."""

    wanted: tuple[Word, ...]
    typed: str = ""

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms to look up in the index. They may match a little more than ``spans`` confirms, never less."""
        return tuple(dict.fromkeys(term for word in self.wanted for term in _asked(word)))

    def spans(self, text: str, ahead: int = 400) -> list[tuple[int, int]]:
        """Where the words occur in ``text``, in order and without overlap; empty if one of them is missing.

        Once every word was found, text more than ``ahead`` characters after the first match is not searched.
        """
        if not self.wanted:
            return []
        found: list[tuple[int, int]] = []
        missing = set(self.wanted)
        for word in words(text):
            if not missing and word.start > found[0][0] + ahead:
                break
            for wanted in self.wanted:
                places = list(_places(word, wanted))
                if places:
                    missing.discard(wanted)
                    found += places
        return [] if missing else _merged(found)


def query(text: str, limit: int = 8) -> Query:
    """Parse the text of a search field: at most ``limit`` different words. All other characters are ignored."""
    found: dict[tuple[str, bool], Word] = {}
    for word in map(_as_asked, _words(_WORD.finditer(text))):
        found.setdefault((word.folded, word.run), word)
        if len(found) == limit:
            break
    return Query(tuple(found.values()), text)


def terms(text: str, limit: int) -> list[str]:
    """The different terms of ``text`` in the order of their first appearance, at most ``limit`` bytes of them altogether. Those of parts
    inside words come last."""
    chosen: dict[str, None] = {}
    long: set[tuple[str, bool]] = set()
    room = limit
    for match in _with_parts(text):
        folded, is_run = _folded(match)
        if not is_run and (not folded.isascii() or (len(folded) >= _PART_BEFORE + _PART_CHARS and match[0][0].isupper())):
            long.add((folded, match[0][0].isupper()))
        # Of a run each pair of neighbours, and the last character alone, so that each character begins a term.
        for term in (folded[at : at + 2] for at in range(len(folded))) if is_run else (folded,):
            if not term or term in chosen:
                continue
            room -= len(term.encode()) + 1
            if room < 0:
                return list(chosen)
            chosen[term] = None
    return [*chosen, *_inner_terms(long, room)] if long else list(chosen)


def _inner_terms(long: set[tuple[str, bool]], limit: int) -> Iterator[str]:
    """The different terms of parts inside these words, folded and whether they have a capital; at most ``limit`` bytes of them."""
    found: set[str] = set()
    for folded, has_capital in sorted(long):
        for at in _inside(folded, has_capital=has_capital):
            term = INNER + _beginning(folded[at:])
            limit -= 0 if term in found else len(term.encode()) + 1
            if limit < 0:
                return
            if term not in found:
                found.add(term)
                yield term


def words(text: str) -> Iterator[Word]:
    """Every word of a text, and after a word that unseen characters part, its parts."""
    return _words(_with_parts(text))


def _with_parts(text: str) -> Iterator[re.Match[str]]:
    return _parted(text) if _UNSEEN_INSIDE.search(text) else _WORD.finditer(text)


def _parted(text: str) -> Iterator[re.Match[str]]:
    for match in _WORD.finditer(text):
        yield match
        if match.lastgroup is None and _UNSEEN_INSIDE.search(match[0]):
            yield from _PART.finditer(text, match.start(), match.end())


def _words(matches: Iterable[re.Match[str]]) -> Iterator[Word]:
    for match in matches:
        folded, is_run = _folded(match)
        if folded:
            yield Word(folded, match.start(), match.end(), is_run, match[0][0].isupper())


def _folded(match: re.Match[str]) -> tuple[str, bool]:
    """A word as it is compared, and whether it is a run."""
    word = match[0]
    if word.isascii():
        return word[:WORD_CHARS].lower(), False
    if match.lastgroup == "run":
        return "".join(map(_fold_character, word)), True
    return _fold(word)[:WORD_CHARS], False


def _asked(word: Word) -> Iterator[Term]:
    if not word.run:
        inner = _beginning(word.folded) if _may_be_inside(word.folded) else ""
        yield Term(word.folded, is_prefix=_may_begin(word.folded), inner=inner)
    elif len(word.folded) == 1:
        yield Term(word.folded, is_prefix=True)
    else:
        yield from (Term(word.folded[at : at + 2], is_prefix=False) for at in range(len(word.folded) - 1))


def _places(word: Word, wanted: Word) -> Iterator[tuple[int, int]]:
    if word.run != wanted.run:
        return
    if not word.run:
        is_there = word.folded.startswith(wanted.folded) if _may_begin(wanted.folded) else word.folded == wanted.folded
        if is_there or _has_inside(word, wanted.folded):
            yield word.start, word.end
        return
    at = word.folded.find(wanted.folded)
    while at >= 0:
        yield word.start + at, word.start + at + len(wanted.folded)
        at = word.folded.find(wanted.folded, at + len(wanted.folded))


def _as_asked(word: Word) -> Word:
    """A word of a query, without what people do not look for: a particle behind a Korean word, and a syllable that they begin to type."""
    return replace(word, folded=_ENDING.sub("", word.folded)) if _ENDING.search(word.folded) else word


def _inside(folded: str, *, has_capital: bool) -> Iterator[int]:
    """Where a part of a word may begin that is found by itself.

    In Korean at each syllable, since nouns are written together, with particles behind them. In other scripts only from the fourth letter
    of a word with a capital: all German nouns have one. So *folgende* is not found as *Ende*, nor *comfortable* as *table*.
    """
    is_compound = has_capital and len(folded) <= _COMPOUND_CHARS and folded.isalpha()  # no key, and no number
    for at in range(1, len(folded) - 1):
        if _is_hangul(folded[at]) or (is_compound and _PART_BEFORE <= at <= len(folded) - _PART_CHARS):
            yield at


def _has_inside(word: Word, wanted: str) -> bool:
    if not _may_be_inside(wanted) or wanted not in word.folded:
        return False
    return any(word.folded.startswith(wanted, at) for at in _inside(word.folded, has_capital=word.has_capital))


def _may_begin(wanted: str) -> bool:
    """Whether a longer word is found by this beginning: too many begin with any single letter."""
    return len(wanted) > 1 or _is_hangul(wanted)


def _may_be_inside(wanted: str) -> bool:
    return len(wanted) >= (2 if _is_hangul(wanted[0]) else _PART_CHARS)


def _beginning(part: str) -> str:
    """What is stored of a part inside a word: enough to tell it from most others."""
    return part[: 3 if _is_hangul(part[0]) else 6]


def _is_hangul(character: str) -> bool:
    return "\uac00" <= character <= "\ud7a3"


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _fold(word: str) -> str:
    """Case, width and accents do not matter; nor do the vowel points of Arabic and Hebrew, which hardly anybody types."""
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
    # Compatibility forms may introduce characters that are not part of words, such as the slash of a fraction.
    return "".join(_IN_A_WORD.findall(unicodedata.normalize("NFC", _OPTIONAL.sub("", apart))))


def _fold_character(character: str) -> str:
    folded = unicodedata.normalize("NFKC", character)
    return folded if len(folded) == 1 else character


# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, bopomofo, and the Han characters with their extensions.
_WITHOUT_SPACES = (
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1050-\u109d\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f"
    r"\u30a1-\u30fa\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    r"\U00020000-\U0003ffff"
)
_OPTIONAL = re.compile(r"[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")


def _marks() -> str:
    """The combining marks, which belong to the letter before them, as the inside of a character class."""
    points = (point for point in range(0x300, 0x20000) if unicodedata.category(chr(point))[0] == "M")
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in runs(points))


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of consecutive numbers, which come in ascending order."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        first = found.pop()[0] if found and found[-1][1] == number - 1 else number
        found.append((first, number))
    return found


_LETTERS = rf"[^\W_{_WITHOUT_SPACES}]"
_UNSEEN = r"[\u00ad\u200b-\u200d\u2060\ufeff]"
"""The soft hyphen, and characters without width that may stand inside a word: nobody types them in a search."""
_UNSEEN_INSIDE = re.compile(_UNSEEN)
_PART = re.compile(rf"{_LETTERS}(?:{_LETTERS}|[{_marks()}])*")
_WORD = re.compile(rf"(?P<run>[{_WITHOUT_SPACES}]+)|{_PART.pattern}(?:{_UNSEEN}+{_PART.pattern})*")
_IN_A_WORD = re.compile(rf"[^\W_]|[{_marks()}]")

_PART_BEFORE = 3
"""Letters of a compound before its second part: with fewer, a prefix such as *be* or *in*."""
_PART_CHARS = 4
"""Letters of a part that is found by itself: shorter ones are in too many words."""
_COMPOUND_CHARS = 40
INNER = "Ø"
"""Begins the terms of parts inside words. A capital, so that no folded word begins with it; FTS5 keeps it, as it is not ASCII."""
_ENDING = re.compile(
    r"(?<=[\uac00-\ud7a3])[\u1100-\u1112]+$|(?<=[\uac00-\ud7a3]{2})(?:에서는|으로는|에서|에게|으로|까지|부터|에는|을|를|은|는|에)$"
)
"""Particles that end hardly any noun: not 이, 가, 의, 로, 도, 과, 만, as in 고양이, 전문가, 회의."""
