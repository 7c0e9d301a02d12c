"""Finds copies of hidden text in a summary line: literal, reordered, with words in between, or in a simple cipher."""

from __future__ import annotations

from collections.abc import Sequence

from renderer.summary import disguises
from renderer.summary.index import RUN_WORDS, SHINGLE, HiddenText, SeenText

_COPIED_SHARE = 0.6
_COINCIDENCE = 7
_MAX_BETWEEN = 3
_TOGETHER_WORDS = 60


def is_copy(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether ``line`` has a run of words or letters of hidden text, or is mostly made of short runs of it."""
    words = disguises.words(line)
    hits = _unseen_hits(words, hidden, seen)
    run = longest = 0
    for is_hit in hits:
        run = run + 1 if is_hit else 0
        longest = max(longest, run)
    if longest + SHINGLE - 1 >= RUN_WORDS:
        return True
    if sum(hits) >= SHINGLE and sum(hits) / len(hits) >= _COPIED_SHARE:
        return True
    squeezed = "".join(words)
    return hidden.letters.share(squeezed) or hidden.unspaced.share_words(disguises.unspaced(squeezed), seen.unspaced_runs)


def is_copy_together(lines: Sequence[str], hidden: HiddenText, seen: SeenText) -> bool:
    """As ``is_copy``, for all lines so far (the last one is new), and also for copied words with a few others between them."""
    text = " ".join(lines)
    return is_copy(text, hidden, seen) or is_interleaved(disguises.words(text)[-_TOGETHER_WORDS:], hidden, seen)


def is_interleaved(words: Sequence[str], hidden: HiddenText, seen: SeenText) -> bool:
    """Whether RUN_WORDS words of ``words``, with at most a few between each two, are consecutive in hidden text."""
    longest: dict[tuple[int, int], int] = {}
    for last in range(2, len(words)):
        for middle in range(max(1, last - 1 - _MAX_BETWEEN), last):
            for first in range(max(0, middle - 1 - _MAX_BETWEEN), middle):
                if hidden.contains_run((words[first], words[middle], words[last])) and not _is_in_visible_run(first, last, words, seen):
                    chain = longest.get((first, middle), SHINGLE - 1) + 1
                    longest[middle, last] = max(chain, longest.get((middle, last), 0))
    return max(longest.values(), default=0) >= RUN_WORDS


def is_encoded(line: str, hidden: HiddenText, seen: SeenText) -> bool:
    """Whether simple ciphers turn ``line`` into hidden text."""
    plain = disguises.words(line)
    if sum(hidden.shared(plain[::-1])) > 1:
        return True
    for words in disguises.decoded(line):
        # Text that is not changed by the cipher is not encoded: ``is_copy`` judges that.
        changed = [word not in plain and word not in seen.words for word in words]
        if any(hit and any(changed[at : at + SHINGLE]) for at, hit in enumerate(hidden.shared(words))):
            return True
        decoded = [word for word, is_changed in zip(words, changed, strict=True) if is_changed and word in hidden.long_words]
        if len(decoded) > 1 or any(len(word) >= _COINCIDENCE for word in decoded):
            return True
    return False


def _unseen_hits(words: Sequence[str], hidden: HiddenText, seen: SeenText) -> list[bool]:
    """For each SHINGLE words, whether they are in hidden text, and not part of a run that people can see."""
    hits = hidden.shared(words)
    for begin in range(len(words) - RUN_WORDS + 1):
        if hash(tuple(words[begin : begin + RUN_WORDS])) in seen.runs:
            hits[begin : begin + RUN_WORDS - SHINGLE + 1] = [False] * (RUN_WORDS - SHINGLE + 1)
    return hits


def _is_in_visible_run(first: int, last: int, words: Sequence[str], seen: SeenText) -> bool:
    """Whether the three words are side by side, and in a run that people can see."""
    if last - first != SHINGLE - 1:
        return False
    begins = range(max(0, last - RUN_WORDS + 1), min(first, len(words) - RUN_WORDS) + 1)
    return any(hash(tuple(words[begin : begin + RUN_WORDS])) in seen.runs for begin in begins)
