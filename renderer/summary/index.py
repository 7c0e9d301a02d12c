"""Indexes the hidden and the visible text, for checking summaries against them.

Text is added piece by piece, and each piece is indexed only once.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from renderer.summary import disguises, endings, languages
from renderer.summary.number_words import small_numbers
from renderer.summary.spellings import digits, pinyin, written
from renderer.summary.spellings.named_words import NamedWords
from renderer.summary.vocabulary import korean

SHINGLE = 3
"""The number of consecutive words that are looked up together."""
RUN_WORDS = 5
"""This many consecutive words from hidden text are a copy, unless they are also consecutive in the visible text."""
LONG_WORD = 5
_UNSPACED_RUN = 6
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_BATCH = 2_000
_MAX_TAIL_CHARS = 200
_MAX_ROOT_CHARS = 6
_MAX_WORD_CHARS = 30
_MIN_SKELETON_CHARS = 4
_VOWELS = re.compile("[aeiouyh]")
_DOUBLED = re.compile(r"(.)\1+")
_KOREAN_ENDINGS = frozenset(["", *disguises.words(korean.ENDINGS)])
_BEFORE = 80
_WORD_END = re.compile(r"\A\S+")
_MIN_STEMS = 4
_PASSAGE_WORDS = 80
_MAX_PASSAGES = 500
_NUMBER_DIGITS = 3
_ENDINGS = ("ingly", "ings", "edly", "ing", "ies", "ied", "ed", "es", "ly", "s", "e")


class Grams:
    """Runs of characters, each ``step``-th one. A shared run of at least ``size + step - 1`` characters is always found."""

    def __init__(self, size: int, step: int) -> None:
        self._size, self._step = size, step
        self._known: set[int] = set()
        self._rest = ""

    def feed(self, text: str) -> None:
        """Add more of the text to index."""
        text = self._rest + text
        begins = range(0, len(text) - self._size + 1, self._step)
        self._known.update(hash(text[begin : begin + self._size]) for begin in begins)
        self._rest = text[begins[-1] + self._step :] if begins else text

    def share(self, text: str, known: Grams | None = None) -> bool:
        """Whether ``text`` shares such a run with the indexed text. Runs that are ``known``, of the same size, do not count."""
        return any(self._shared(text, known))

    def share_words(self, text: str, known: Grams) -> bool:
        """As ``share``. If a run has few Chinese characters, each of which is about half a word, the next run must be shared, too."""
        hits = self._shared(text, known)
        is_dense = [len(_HAN.findall(text[begin : begin + self._size])) * 2 >= self._size for begin in range(len(hits))]
        return any(hit and (is_dense[begin] or any(hits[begin + self._step : begin + self._step + 1])) for begin, hit in enumerate(hits))

    def _shared(self, text: str, known: Grams | None) -> list[bool]:
        return [run in self._known and not (known and run in known._known) for run in self._runs(text)]

    def _runs(self, text: str) -> Iterator[int]:
        return (hash(text[begin : begin + self._size]) for begin in range(len(text) - self._size + 1))


class HiddenText(NamedWords):
    """Everything that a summary must not reveal. ``feed`` accepts pieces as they arrive; each character takes about 30 bytes of memory."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = Grams(24, 8)
        self.unspaced = Grams(_UNSPACED_RUN, 2)
        self.long_words: set[str] = set()
        self.instructions: list[frozenset[str]] = []
        """The content of each sentence of the system and developer messages."""
        self.instruction_words: set[str] = set()
        self.instruction_forms: set[str] = set()
        """The base words of ``instruction_words``; for scripts without spaces, each pair of adjacent characters."""
        self.names: set[str] = set()
        """Names and quoted words of the system and developer messages."""
        self.forms: set[str] = set()
        """The base words of all hidden words."""
        self.skeletons: set[str] = set()
        self.letter_sets: set[str] = set()
        """The letters of these forms, sorted: a word with two letters swapped has the same."""
        self.pairs: set[str] = set()
        """Each pair of adjacent characters, as in ``SeenText``."""
        self.digits: set[str] = set()
        """Runs of digits of longer numbers (``spellings.digits``), however they are separated or spelled."""
        self.pinyin: set[str] = set()
        """The initial sounds of its Chinese characters (``spellings.pinyin``)."""
        self.small_numbers: set[int] = set()
        self.words: set[str] = set()
        self._shingles: set[int] = set()
        self._last: list[str] = []
        self._before = ""
        self._pending: list[str] = []
        self._size = 0
        self._lettered = 0

    def feed(self, text: str) -> None:
        """Add more of a hidden frame."""
        self._pending.append(text)
        self._size += len(text)
        if self._size >= _BATCH:
            self.settle()

    def settle(self, *, is_end: bool = False) -> None:
        """Index the text so far. An incomplete word waits; ``is_end``: the frame has ended, and so has its last word."""
        text = "".join(self._pending)
        cut = len(text) if is_end else max(text.rfind(" "), text.rfind("\n"))
        if len(text) - cut > _MAX_TAIL_CHARS:
            cut = len(text)
        cut = max(cut, 0)
        # Letters need not wait for the end of a word. In scripts without spaces, that end may be a sentence away.
        squeezed = "".join(disguises.words(text[self._lettered :]))
        self.letters.feed(squeezed)
        self.unspaced.feed(disguises.unspaced(squeezed))
        self._pending, self._size, self._lettered = [text[cut:]], len(text) - cut, len(text) - cut
        self._index(text[:cut])
        if is_end:
            self._last, self._before = [], ""

    def feed_instructions(self, text: str) -> None:
        """Add a whole system or developer message. Nothing of its content may be revealed, not even in other words."""
        self.feed(text)
        self.settle(is_end=True)
        self.instructions += _sentences(text)
        self.instruction_words.update(disguises.words(text))
        self.instruction_forms.update(*map(_forms, self.instruction_words))
        self.names.update(written.names(text) | written.quoted(text))

    def contains_run(self, run: tuple[str, ...]) -> bool:
        """Whether these SHINGLE words are consecutive in the hidden text."""
        return hash(run) in self._shingles

    def shared(self, words: Sequence[str]) -> list[bool]:
        """For each run of SHINGLE words of ``words``, whether it is in the hidden text."""
        return [hash(run) in self._shingles for run in _shingles(words)]

    def _index(self, text: str) -> None:
        words = disguises.words(text)
        self._shingles.update(map(hash, _shingles([*self._last, *words])))
        self._last = [*self._last, *words][-(SHINGLE - 1) :]
        for word in set(words) - self.words:
            self._index_word(word)
        self.words.update(words)
        self.small_numbers.update(*map(small_numbers, words))
        self.digits |= digits.spelled_grams(words)
        self.pinyin |= pinyin.firsts(text)
        self._index_names(text)

    def _index_word(self, word: str) -> None:
        run = disguises.unspaced(word)
        self.pairs.update(run[begin : begin + 2] for begin in range(len(run) - 1))
        if len(word) >= LONG_WORD:
            self.long_words.add(word)
        if not run and len(word) <= _MAX_WORD_CHARS:
            forms = endings.forms(word)
            self.forms |= forms
            self.skeletons.add(skeleton(word))
            self.letter_sets.update("".join(sorted(form)) for form in forms if len(form) >= LONG_WORD)

    def _index_names(self, text: str) -> None:
        """Index names together with the text before, as a name or a number may be split across pieces. Duplicates are stored once."""
        text = self._before + text
        # From the beginning of a word on: the end of a name by itself could look like a word.
        self._before = text if len(text) <= _BEFORE else _WORD_END.sub("", text[-_BEFORE:])
        self.index_names(text)
        self.digits |= digits.grams(text)


class SeenText:
    """The text that people can see: their questions and the visible messages. A summary may mention all of it."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.parts: set[str] = set()
        """The words, and the parts of words that mix scripts with and without spaces: "17" of "17\u304c"."""
        self.stems: set[str] = set()
        self.forms: set[str] = set()
        """The base words of these words."""
        self.romance: set[str] = set()
        """The same, with the endings of French and Spanish."""
        self.pairs: set[str] = set()
        """Each pair of adjacent characters in scripts without spaces, and in Korean."""
        self.roots: set[str] = set()
        """Its Korean words without a possible ending."""
        self.runs: set[int] = set()
        """Each run of RUN_WORDS words."""
        self.unspaced_runs = Grams(_UNSPACED_RUN, 1)
        """The same for characters, in scripts without spaces."""
        self.names: set[str] = set()
        """Quotations, names with a title, and identifiers."""
        self.digits: set[str] = set()
        self.tokens: set[str] = set()
        self.numbers: set[str] = set()
        """The tokens with three digits or more."""
        self.passages: deque[frozenset[str]] = deque(maxlen=_MAX_PASSAGES)
        """The stems of runs of words: for phrases that occur together, not just somewhere."""
        self.scripts: set[str] = set()
        self.language_counts: Counter[str] = Counter()

    def feed(self, text: str) -> None:
        """Add one whole visible message, or a part of one that ends at a space."""
        words = disguises.words(text)
        for word in set(words) - self.words:
            self._index_word(word)
        self.words.update(words)
        self.parts.update(words)
        self.runs.update(map(hash, zip(*(words[begin:] for begin in range(RUN_WORDS)), strict=False)))
        self.digits |= digits.grams(text)
        self.names |= written.certain_names(text)
        self.unspaced_runs.feed(disguises.unspaced("".join(words)))
        for begin in range(0, len(words), _PASSAGE_WORDS):
            passage = stems(" ".join(words[begin : begin + _PASSAGE_WORDS]))
            self.passages.append(passage)
            self.stems |= passage
        tokens = {bare(token) for token in text.split()}
        self.tokens |= tokens
        self.numbers.update(token for token in tokens if sum(map(str.isdigit, token)) >= _NUMBER_DIGITS)
        self.scripts |= disguises.scripts(text)
        self.language_counts += languages.count(words)

    def _index_word(self, word: str) -> None:
        run = disguises.unspaced(word)
        if run:
            self.parts.update(disguises.split_by_spacing(word))
        self.pairs.update(run[begin : begin + 2] for begin in range(len(run) - 1))
        if run and "\uac00" <= run[0] <= "\ud7af":
            self.roots.update(run[:cut] for cut in range(1, min(len(run), _MAX_ROOT_CHARS) + 1) if cut > 1 or run[cut:] in _KOREAN_ENDINGS)
        if not run:
            self.forms |= endings.forms(word)
            self.romance |= endings.romance(word)


def _forms(word: str) -> frozenset[str]:
    run = disguises.unspaced(word)
    return frozenset(one + other for one, other in pairwise(run)) if run else endings.forms(word)


def stems(text: str) -> frozenset[str]:
    """The stems of the meaningful words of ``text``; for scripts without spaces, each pair of characters."""
    found: set[str] = set()
    for word in disguises.words(text):
        run = disguises.unspaced(word)
        found.update(run[begin : begin + 2] for begin in range(len(run) - 1))
        if not run and len(word) >= 3 and word not in languages.STOP_WORDS:
            found.add(_stem(word))
    return frozenset(found)


def bare(token: str) -> str:
    """A token between two spaces, without the punctuation around it, in lower case."""
    return token.strip(".,;:!?()[]{}<>\"'\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb*_`").casefold()


def skeleton(word: str) -> str:
    """A folded word without its vowels and doubled letters: it is the same for a misspelt name. Empty if too little remains."""
    left = _DOUBLED.sub(r"\1", _VOWELS.sub("", word))
    return word if len(left) < _MIN_SKELETON_CHARS else left


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
    """Short sentences are joined: a single word cannot be paraphrased."""
    found: list[frozenset[str]] = []
    open_one: frozenset[str] = frozenset()
    for part in written.SENTENCE_END.split(text):
        own = stems(part)
        if len(own) >= _MIN_STEMS:
            found.append(own)
        elif len(open_one | own) >= _MIN_STEMS:
            found.append(open_one | own)
            open_one = frozenset()
        else:
            open_one |= own
    return [*found, open_one] if open_one else found
