"""What a summary is held against: hidden text and visible text, indexed piece by piece, so that the work grows with what is new only."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Sequence

from renderer.summary import disguises, languages

SHINGLE = 3
"""Words in a row that are looked up together."""
LONG_WORD = 5
_BATCH = 2_000
_LONGEST_TAIL = 200
_SENTENCE_END = re.compile(r"[.!?;:\n\u3002\uff01\uff1f]+")
_NAME = re.compile(r"(?<![\w'-])[^\W\d_a-z][\w'-]{2,}")
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab'`]([^\"\u201d\u201c\u00bb'`\n]{3,60})[\"\u201d\u201c\u00bb'`]")
_LEAST_STEMS = 4
_PASSAGE_WORDS = 80
_MOST_PASSAGES = 500
_NUMBER_DIGITS = 3
_ENDINGS = ("ingly", "ings", "edly", "ing", "ies", "ied", "ed", "es", "ly", "s", "e")


class Grams:
    """Runs of characters, each ``step``-th one. A run that is shared is found for sure from ``size + step - 1`` characters on."""

    def __init__(self, size: int, step: int) -> None:
        self._size, self._step = size, step
        self._known: set[int] = set()
        self._rest = ""

    def feed(self, text: str) -> None:
        """More of the text that is indexed."""
        text = self._rest + text
        begins = range(0, len(text) - self._size + 1, self._step)
        self._known.update(hash(text[begin : begin + self._size]) for begin in begins)
        self._rest = text[begins[-1] + self._step :] if begins else text

    def share(self, text: str) -> bool:
        """Whether ``text`` has such a run in common with it."""
        return any(hash(text[begin : begin + self._size]) in self._known for begin in range(len(text) - self._size + 1))


class HiddenText:
    """Everything that a summary must not give away. ``feed`` takes pieces as they come; about 30 bytes are held for each character."""

    def __init__(self) -> None:
        self.letters = Grams(24, 8)
        self.wide = Grams(6, 3)
        self.long_words: set[str] = set()
        self.orders: list[frozenset[str]] = []
        """What stands in each sentence of the system and developer messages."""
        self.order_words: set[str] = set()
        self.names: set[str] = set()
        """Names and quoted words of those messages."""
        self._shingles: set[int] = set()
        self._last: list[str] = []
        self._pending: list[str] = []
        self._size = 0
        self._lettered = 0

    def feed(self, text: str) -> None:
        """More of a hidden frame."""
        self._pending.append(text)
        self._size += len(text)
        if self._size >= _BATCH:
            self.settle()

    def settle(self, *, is_end: bool = False) -> None:
        """Index what has come. A word that is not over yet waits; ``is_end``: the frame is over, and so is its last word."""
        text = "".join(self._pending)
        cut = len(text) if is_end else max(text.rfind(" "), text.rfind("\n"))
        if len(text) - cut > _LONGEST_TAIL:
            cut = len(text)
        cut = max(cut, 0)
        # Letters need not wait for the end of a word. In scripts without spaces that end may be a sentence away.
        squeezed = "".join(disguises.words(text[self._lettered :]))
        self.letters.feed(squeezed)
        self.wide.feed(disguises.wide(squeezed))
        self._pending, self._size, self._lettered = [text[cut:]], len(text) - cut, len(text) - cut
        self._index(text[:cut])
        if is_end:
            self._last = []

    def feed_order(self, text: str) -> None:
        """A whole system or developer message: nothing of what it says may be told, not in other words either."""
        self.feed(text)
        self.settle(is_end=True)
        self.orders += _sentences(text)
        self.order_words.update(disguises.words(text))
        self.names.update(_names(text))

    def shared(self, words: Sequence[str]) -> list[bool]:
        """For each run of SHINGLE words of ``words`` whether it stands in the hidden text."""
        return [hash(run) in self._shingles for run in _shingles(words)]

    def _index(self, text: str) -> None:
        words = disguises.words(text)
        self._shingles.update(map(hash, _shingles([*self._last, *words])))
        self._last = [*self._last, *words][-(SHINGLE - 1) :]
        self.long_words.update(word for word in words if len(word) >= LONG_WORD)


class SeenText:
    """What people can see anyway: their questions and the visible messages. A summary may speak of all of it."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.stems: set[str] = set()
        self.tokens: set[str] = set()
        self.numbers: set[str] = set()
        """Of the tokens those with three digits or more."""
        self.passages: deque[frozenset[str]] = deque(maxlen=_MOST_PASSAGES)
        """The stems again, of so many words in a row: what is said together, and not only somewhere."""
        self.scripts: set[str] = set()
        self.tongues: Counter[str] = Counter()

    def feed(self, text: str) -> None:
        """One whole visible message, or a part of one that ends at a space."""
        words = disguises.words(text)
        self.words.update(words)
        for begin in range(0, len(words), _PASSAGE_WORDS):
            passage = stems(" ".join(words[begin : begin + _PASSAGE_WORDS]))
            self.passages.append(passage)
            self.stems |= passage
        tokens = {bare(token) for token in text.split()}
        self.tokens |= tokens
        self.numbers.update(token for token in tokens if sum(map(str.isdigit, token)) >= _NUMBER_DIGITS)
        self.scripts |= disguises.scripts(text)
        self.tongues += languages.count(words)


def stems(text: str) -> frozenset[str]:
    """What the words of ``text`` that say something begin with, endings cut; of scripts without spaces each pair of characters."""
    found: set[str] = set()
    for word in disguises.words(text):
        run = disguises.wide(word)
        found.update(run[begin : begin + 2] for begin in range(len(run) - 1))
        if not run and len(word) >= 3 and word not in languages.SMALL_WORDS:
            found.add(_stem(word))
    return frozenset(found)


def bare(token: str) -> str:
    """A token between two spaces, without the punctuation around it, in small letters."""
    return token.strip(".,;:!?()[]{}<>\"'\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb*_`").casefold()


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1].isalpha():
        word = word[:-1]
    return word[:6]


def _shingles(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(words[begin:] for begin in range(SHINGLE)), strict=False)


def _sentences(text: str) -> list[frozenset[str]]:
    """Short sentences are put together: one word alone is no sentence that could be told in other words."""
    found: list[frozenset[str]] = []
    open_one: frozenset[str] = frozenset()
    for part in _SENTENCE_END.split(text):
        own = stems(part)
        if len(own) >= _LEAST_STEMS:
            found.append(own)
        elif len(open_one | own) >= _LEAST_STEMS:
            found.append(open_one | own)
            open_one = frozenset()
        else:
            open_one |= own
    return [*found, open_one] if open_one else found


def _names(text: str) -> set[str]:
    """Words with a capital that do not begin a sentence, words in capitals, words with digits, and what stands in quotes."""
    names: set[str] = set()
    for part in _SENTENCE_END.split(text):
        begins = len(part) - len(part.lstrip(" \t-*#>\u2022"))
        for match in _NAME.finditer(part):
            if match.start() > begins or match[0].isupper():
                names.update(disguises.words(match[0]))
    for match in _QUOTED.finditer(text):
        names.update(disguises.words(match[1]))
    names.update(word for word in disguises.words(text) if len(word) >= 3 and any(map(str.isdigit, word)))
    return {name for name in names if len(name) >= 3 and name not in languages.SMALL_WORDS}
