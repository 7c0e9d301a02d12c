"""Counts the tokens of documents: exactly if this machine has the vocabulary, otherwise by an estimate that treats tables and prose
differently."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from chatui.model_servers import connected
from renderer.harmony.vocabulary import VocabularyError

_PIECES = re.compile(
    # As the vocabulary cuts text before it joins bytes. No two of them can begin alike, so the time it takes grows with the text alone.
    r"(?P<word>[A-Z]*[a-z]+|[A-Z]+)|(?P<digits>[0-9]+)|(?P<spaces> +)|(?P<tabs>\t+)|(?P<ends>[\r\n]+)"
    r"|(?P<signs>[^ \t\r\nA-Za-z0-9\x80-\U0010ffff]+)|(?P<near>[\x80-\u0dff]+)|(?P<other>[\u0e00-\u2e7f]+)"
    r"|(?P<far>[\u2e80-\u33ff\u4dc0-\uffff]+)|(?P<rare>[\u3400-\u4dbf\U00010000-\U0010ffff]+)"
)
_WORD_CHARS = 12
"""What is longer is hardly a word: no token has much of it."""
_PIECES_AT_ONCE = 500
"""Less than a millisecond's work."""
_STEP_CHARS = 20_000
"""So much is counted at a time where only the beginning is wanted."""


def tokens_of(texts: Sequence[str]) -> tuple[list[int], bool]:
    """How many tokens each text has, and whether they were counted. Takes about 0.1 s for 500,000 characters: not for an event loop."""
    try:
        vocabulary = connected.gpt_oss_vocabulary()
    except VocabularyError:
        return [estimated(text) for text in texts], False
    return [len(vocabulary.encode(text)) for text in texts], True


def estimated(text: str) -> int:
    """About how many tokens a text has, rather too many than too few: tables have three times as many for their length as prose."""
    tokens = 0
    for number, match in enumerate(_PIECES.finditer(text), 1):
        tokens += _TOKENS[str(match.lastgroup)](match[0])
        if not number % _PIECES_AT_ONCE:
            time.sleep(0)  # The event loop need not wait for the interpreter until it is taken from this thread by force, every 5 ms.
    return tokens


def _of_word(word: str) -> int:
    capitals = sum(letter < "a" for letter in word[:_WORD_CHARS])
    return 1 + capitals // 2 + -(-max(0, len(word) - 7) // 5) if len(word) <= _WORD_CHARS else 2 + capitals // 2 + len(word) * 3 // 5


_TOKENS: dict[str, Callable[[str], int]] = {
    "word": _of_word,
    "digits": lambda piece: -(-len(piece) // 3),
    "spaces": lambda piece: -(-(len(piece) - 1) // 8),  # one of them belongs to the word behind it
    "tabs": lambda piece: -(-len(piece) // 2),
    "ends": lambda piece: -(-len(piece) // 4),
    "signs": lambda piece: -(-len(piece) // 2),
    "near": lambda piece: -(-len(piece) * 10 // 22),
    "other": lambda piece: -(-len(piece) * 2 // 3),
    "far": len,
    "rare": lambda piece: 3 * len(piece),
}


def begin_of(text: str, most: int, count: Callable[[str], int]) -> str:
    """As much of the beginning of a text as has at most so many tokens, up to the end of a line where one is near. Counts every part of
    that about once, however long the text is."""
    begin, left = 0, most
    while (tokens := count(step := text[begin : begin + _STEP_CHARS])) <= left:
        begin, left = begin + len(step), left - tokens
        if begin >= len(text):
            return text
    low, high = 0, len(step)
    while high - low > 64:
        middle = (low + high) // 2
        low, high = (middle, high) if count(step[:middle]) <= left else (low, middle)
    cut = begin + low
    end = text.rfind("\n", cut * 9 // 10, cut)
    return text[: end if end > 0 else cut]
