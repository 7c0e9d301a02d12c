"""Finds a thought that comes once more as the beginning of an answer, or behind a first short sentence of it, as some servers send it.

It is told by its letters and digits: case, accents, width, quotation marks, white space and punctuation make no difference.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import takewhile

_LEAST = 22
"""A thought with fewer letters and digits than that may well be how its answer begins, too."""
_ENDS, _CLOSING = ".!?…。！？", "\"'”’»)"
_FIRST = 40
_SENTENCE = re.compile(rf"(?:\s*[<\[◁][^<>\[\]◁▷\n]{{1,{_FIRST}}}[>\]▷]|[^{_ENDS}:\n]{{1,{_FIRST}}}[{_ENDS}:\n]+)\s*")
"""A first short sentence, or a tag, behind which a thought may come again."""
_INTERJECTION = 12
"""Without a first sentence with fewer characters (``Hm.``), a thought is the same."""
_MOST = 4
"""So many thoughts are looked for one behind another."""


_TAG = re.compile(r"[<\[◁][^<>\[\]◁▷]*(?:[>\]▷]|\Z)")
"""A tag or a token around a thought, or its beginning."""


def is_thought(text: str) -> bool:
    """Whether it holds a letter or a digit: neither invisible characters nor punctuation nor the tag around a thought are one."""
    return any(map(str.isalnum, _TAG.sub("", text)))


def words_in(text: str) -> str:
    """The letters and digits of a text, folded."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))


def _forms(thoughts: Iterable[str]) -> dict[str, bool]:
    """The words by which each thought is known again, and whether its last sentence has ended; the longest first."""
    found = dict[str, bool]()
    for thought in thoughts:
        begin, is_ended = _SENTENCE.match(thought), thought.rstrip().rstrip(_CLOSING).endswith(tuple(_ENDS))
        found[words_in(thought)] = is_ended
        if begin and begin.end() < _INTERJECTION:
            found[words_in(thought[begin.end() :])] = is_ended
    return {words: found[words] for words in sorted(found, key=len, reverse=True) if len(words) >= _LEAST}


def _end_of(text: str, forms: Mapping[str, bool]) -> int:
    """Where the answer begins in a text that begins with one or several thoughts once more; 0 if it does not."""
    end = 0
    for _ in range(_MOST):
        if not (length := _end_of_one(text[end:], forms)):
            break
        end += length
    return end


def _end_of_one(text: str, forms: Mapping[str, bool]) -> int:
    """Where one whole thought ends with which the text begins; 0 if there is none, or its last sentence goes on in the text."""
    words = words_in(text)
    thought = next(filter(words.startswith, forms), "")
    if not thought:
        return 0
    end = bisect_left(range(len(text)), len(thought), key=lambda at: len(words_in(text[:at])))
    rest = text[end:].lstrip(_CLOSING)
    if forms[thought] and rest and rest[0] not in _ENDS and not rest[0].isspace():
        return 0
    rest = rest.lstrip(_ENDS + _CLOSING)
    around = "".join(takewhile(lambda character: not character.isalnum(), text)).strip()
    if around and rest.lstrip().startswith(around):
        rest = rest.lstrip().removeprefix(around)
    return len(text) - len(rest)


def repeat_in(text: str, thoughts: Iterable[str]) -> tuple[int, int]:
    """Where a whole text has thoughts once more: from where to where; (0, 0): nowhere."""
    forms, first = _forms(thoughts), _SENTENCE.match(text)
    ends = ((begin, begin + end) for begin in (0, first.end() if first else 0) if (end := _end_of(text[begin:], forms)))
    return next(ends, (0, 0))


class Repeats:
    """Holds the text of an answer as long as a thought begins so. ``is_past``: nothing is held any more, nor will be. ``has_hidden``: a
    thought came again.
    """

    def __init__(self, thought: str, others: Iterable[str]) -> None:
        """``thought``: the reasoning before the text. ``others``: reasoning that came as a whole in another place."""
        self._thought, self._late, self._others = thought, "", list(others)
        self._forms = _forms(self._thoughts)
        self._held = self._words = ""
        self._first: str | None = ""
        """The first sentence so far; None behind it."""
        self.is_past, self.has_hidden = not self._thoughts, False

    @property
    def _thoughts(self) -> list[str]:
        return list(filter(None, (self._thought, self._late, *self._others)))

    def reasoned(self, text: str) -> None:
        """More reasoning came after the text began: servers repeat it in pieces, too."""
        self._thought += text
        self._late += text

    def reasoned_apart(self, text: str) -> None:
        """Reasoning that came as a whole in another place, such as a whole message, at any time: it counts by itself."""
        self._others.append(text)
        if not self.is_past:
            self._forms = _forms(self._thoughts)

    def found_in(self, text: str) -> tuple[int, int]:
        """As ``repeat_in``, with all reasoning so far."""
        return repeat_in(text, self._thoughts)

    def feed(self, text: str) -> list[tuple[str, bool]]:
        """The text that is not held, in pieces, each with whether it is a thought once more."""
        self._held += text
        self._words += words_in(text)
        # A short thought counts if it is all of the answer.
        may_be = self._may_begin() or (self._first == "" and self._thought.lstrip().startswith(self._held.strip()))
        return [] if may_be and not self._first else self._decided()

    def _may_begin(self) -> bool:
        is_known = bool(self._words) or len(self._held) < _LEAST
        return is_known and any(form.startswith(self._words) for form in self._forms)

    def finish(self, *, complete: bool) -> list[tuple[str, bool]]:
        """What was held. It is hidden if it is the whole thought, or if the answer is cut: it might have become the thought."""
        if self._held and (not complete or self._held.split() == self._thought.split()):
            self.is_past = self.has_hidden = True
            return [(self._held, True)]
        return self._decided(is_end=True)

    def _decided(self, *, is_end: bool = False) -> list[tuple[str, bool]]:
        first, held = self._first, self._held
        self._held = self._words = ""
        if not first and (end := _end_of(held, self._forms)):
            self.has_hidden, self._first = True, None
            self._held, self._words = held[end:], words_in(held[end:])
            if not is_end and self._may_begin():
                return [(held[:end], True)]
            self.is_past = True
            return [(held[:end], True), (held[end:], False)]
        begun = (first or "") + held
        sentence = None if first is None else _SENTENCE.match(begun)
        if sentence and not is_end:
            self._first, behind = None, sentence.end() - len(first or "")
            return [(held[:behind], False), *self.feed(held[behind:])]
        self._first, self.is_past = begun, first is None or len(begun) > _FIRST
        return [(held, False)]
