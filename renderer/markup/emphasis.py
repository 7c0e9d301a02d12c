"""What a ``*`` means: the beginning or end of emphasis, or a sign of its own, as in ``2*3*4``, ``x**2``, ``*.py`` and ``COUNT(*)``; and
which ``__`` belong to a name, as in ``__init__``.

CommonMark knows only white space and punctuation beside a star. Models also write arithmetic and file names outside of code, and two such
stars would vanish as a pair, which changes what was said. Here a star is a sign if what stands around it is an operand, or cannot be
the edge of an emphasized text. All of it is decided from left to right and by at most a few characters after the star, so that what is
shown of a growing text does not change its meaning later.
"""

from __future__ import annotations

import re

from markdown_it.common.utils import isMdAsciiPunct, isPunctChar

CJK = (
    "\u1100-\u11ff\u2e80-\u303f\u3040-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff01-\uff9f\uffa0-\uffef\U0001f200-\U0001f2ff\U00020000-\U0003ffff"
)
_IS_CJK = re.compile(f"[{CJK}]")


def flanks(*, inner: str, outer: str) -> bool:
    """Whether emphasis may begin or end between a character inside and one outside of it. CJK letters and punctuation need no space."""
    if inner.isalnum():
        return True
    if inner.isspace():
        return False
    if _IS_CJK.match(inner) or not is_punctuation(inner):
        return True
    return outer.isspace() or is_punctuation(outer) or _IS_CJK.match(outer) is not None


def is_punctuation(character: str) -> bool:
    """Whether it is punctuation or a symbol, as CommonMark says."""
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)


_WORD_CHARS = 64
"""How far a word with signs in it is looked at."""
_LETTER = "A-Za-z\u00c0-\u024f\u0370-\u03ff"
_MAY_HAVE_SIGNS = re.compile(
    r"(?<=[\w°'’′)\]}`])\*{1,2}(?=[\w(\[{`√])|(?<![\w*])\*{1,2}(?=[./])|(?<![\w\s*])\*{1,2}(?=[,;.!?:)\]}|$'\"])|(?<=[(\[{])\*"
)
_RUN = re.compile(r"\\.|(?<!`)(`+)(?!`).{0,1000}?(?<!`)\1(?!`)|\*+", re.DOTALL)
"""An escaped character, a code span, or stars."""

_RAISED = "\u00b2\u00b3\u00b9\u2070-\u2079\u2080-\u2089\u00b0\u00bc-\u00be"
"""Small digits, degrees and fractions: they end an operand as digits do."""
_OPERAND_BEFORE = re.compile(rf"(?:[\d{_RAISED})\]}}`]|(?<![{_LETTER}])[{_LETTER}]['\u2019\u2032]?)\Z")
_OPERAND_AFTER = re.compile(rf"[\d(\[{{`√]|[{_LETTER}](?![{_LETTER}])")
_INSIDE_A_WORD = re.compile(rf"[{_LETTER}]\*[{_LETTER}]{{1,{_WORD_CHARS}}}[^*\w]")
"""A star in the middle of a word that has no other one after it, as in the German "Kolleg*innen": emphasis that begins inside a word ends
in the same word, as in "un*believ*able"."""
_ALNUM = re.compile(rf"[\d{_LETTER}]")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\*")
_GLOB = re.compile(r"\*\.(?:[a-z][a-z0-9]{0,6}(?![\w*-])|\*(?![\w*])|\{)|\*\*/(?=[*{])|\*/(?=[\s\d)]|\Z)")
"""The beginning of a pattern of file names, or the end of a comment in C: no emphasized text begins like this."""
_BEFORE_A_GLOB = re.compile(r"[\s/(\[{\"'“„«=,]?\Z")
_CLOSING = frozenset(",;.!?:)]}|$")


_NAME = re.compile(r"(?<!\w)(__)(?:[a-z][A-Za-z\d]+|[A-Z][A-Z\d]+)(?:__?[A-Za-z\d]+)*(__)(?!\w)")
"""A name of Python or C between two underscores on each side. ``__Note__`` and ``__really bold__`` are no names, so they are bold."""


def signs(text: str) -> frozenset[int]:
    """The positions of the runs of stars in a text that are signs, and of the ``__`` of names: they neither begin nor end emphasis."""
    search = _Search(text)
    if _MAY_HAVE_SIGNS.search(text) is not None:
        for match in _RUN.finditer(text):
            if match[0] in ("*", "**"):
                search.add(match.start(), match.end())
    if "__" in text:
        search.signs.update(match.start(group) for match in _NAME.finditer(text) for group in (1, 2))
    return frozenset(search.signs)


class _Search:
    """What was found up to a place: the signs, and for each length of stars the emphasis that is open and the sign that was last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.signs: set[int] = set()
        self._opened: dict[int, tuple[int, bool]] = {}
        self._last_sign = {1: -1, 2: -1}

    def add(self, start: int, end: int) -> None:
        """Decide what the next stars are."""
        text, length = self._text, end - start
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        if _is_no_edge(text, start, end, self.signs, is_open=length in self._opened):
            self.signs.add(start)
        elif _is_between_operands(text, start, end, follows=_is_one_word(text, self._last_sign[length], start)):
            if self._closes(start, end):
                del self._opened[length]
            else:
                self.signs.add(start)
                self._last_sign[length] = end
        elif flanks(inner=before, outer=after) and length in self._opened:
            del self._opened[length]
        elif _INSIDE_A_WORD.match(text, max(0, start - 1)) is not None and length == 1:
            self.signs.add(start)
        elif flanks(inner=after, outer=before):
            self._opened[length] = (end, not flanks(inner=before, outer=after))

    def _closes(self, start: int, end: int) -> bool:
        """Whether stars between operands end emphasis: "**5**x", "**up to 5**x faster", "te*x*t". No digit follows such words."""
        begun, at_edge = self._opened.get(end - start, (-1, False))
        after = self._text[end]
        if _is_one_word(self._text, begun, start):
            return at_edge or after.isalpha()
        return at_edge and (after == "[" or (end - start == 2 and not after.isdigit()))


def _is_one_word(text: str, start: int, end: int) -> bool:
    return start >= 0 and end - start <= _WORD_CHARS and not any(character.isspace() for character in text[start:end])


def _is_no_edge(text: str, start: int, end: int, found: set[int], *, is_open: bool) -> bool:
    """Whether these stars stand where no emphasized text begins or ends: in a pattern of file names, alone in brackets or quotes, or
    between marks that end something, as in ``t.*, u.*``.
    """
    before, after = text[start - 1 : start], text[end : end + 1]
    if _GLOB.match(text, start) is not None and _BEFORE_A_GLOB.match(before) is not None:
        return True
    if before == "." and start - 2 in found and text[start - 2] == "*":
        return True
    if before in ("(", "[", "{") and after in _CLOSING:
        return True
    if before in ('"', "'") and before == after:
        return True
    return not is_open and bool(after) and after in _CLOSING and bool(before) and is_punctuation(before)


def _is_between_operands(text: str, start: int, end: int, *, follows: bool) -> bool:
    """Whether a ``*`` or ``**`` stands between digits, single letters, brackets or code; a ``*`` also between a digit and a name, and
    any between words that ``follows`` a sign in the same expression, as the second one of ``2*pi*r``.
    """
    left = _OPERAND_BEFORE.search(text, max(0, start - 3), start) is not None
    right = _OPERAND_AFTER.match(text, end) is not None
    if left and right:
        return True
    before, after = text[start - 1 : start], text[end : end + 1]
    if not before or not after or not (left or _ALNUM.match(before)) or not (right or _ALNUM.match(after)):
        return False
    is_named = end - start == 1 and (before.isdigit() or after.isdigit()) and _ORDINAL.match(text, end) is None
    return follows or is_named


_UNDECIDED = re.compile(rf"(?<=[\d{_RAISED}'\u2019\u2032)\]}}`{_LETTER}])\*{{1,2}}[{_LETTER}]\Z|\*\.[a-z0-9]{{0,7}}\Z|\*?\*/\Z")
_WORD_GOES_ON = re.compile(rf"(?<![\w*])[{_LETTER}]{{1,{_WORD_CHARS}}}(\*)[{_LETTER}]{{1,{_WORD_CHARS}}}\Z")
_MAY_BE_A_NAME = re.compile(rf"(?<!\w)__(?:(?:[a-z]|[A-Z][A-Z\d])[A-Za-z\d_]{{0,{_WORD_CHARS}}}|[A-Z])?\Z")
UNDECIDED_CHARS = 2 * _WORD_CHARS + 1
"""How far from the end of a text stars or underscores may stand that are undecided."""


def undecided(text: str, known: frozenset[int]) -> int:
    """The position of the stars or underscores at the end of a growing text that its next characters may make a sign, or none of the
    ``known`` signs; -1 if there are none.
    """
    name = _MAY_BE_A_NAME.search(text, max(0, len(text) - UNDECIDED_CHARS))
    if name is not None and name.start() not in known:
        return name.start()
    match = _UNDECIDED.search(text, max(0, len(text) - 10))
    if match is not None and (match.start() in known or match[0] in ("*.", "**/")):
        return match.start()
    word = _WORD_GOES_ON.search(text, max(0, len(text) - UNDECIDED_CHARS))
    return word.start(1) if word is not None else -1
