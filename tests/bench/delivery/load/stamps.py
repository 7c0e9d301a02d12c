"""The words of the answers: each encodes the time at which it was sent, so that its reader knows its delay.

A word is four characters of base 62 that count ticks of a tenth of a millisecond, about as long as an English token. The count restarts
after some 24 minutes, which is longer than any answer here.
"""

import re
import time

TICK = 0.0001
LENGTH = 4
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
TICKS = len(_DIGITS) ** LENGTH
_TAG = re.compile(r"<[^>]*>?")
_WORD = re.compile(rf"(?<![0-9A-Za-z])[0-9A-Za-z]{{{LENGTH}}}(?![0-9A-Za-z])")
_CUT = re.compile(rf"(?<![0-9A-Za-z])[0-9A-Za-z]{{1,{LENGTH - 1}}}$")


def now() -> int:
    """The current tick. All processes of a machine share this clock."""
    return int(time.monotonic() / TICK)


def word(tick: int) -> str:
    """The word for that tick."""
    rest, digits = tick % TICKS, ""
    for _ in range(LENGTH):
        rest, digit = divmod(rest, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def tick_of(text: str, near: int) -> int:
    """The tick of a word, the last one of that name before ``near``."""
    value = 0
    for digit in text:
        value = value * len(_DIGITS) + _VALUES[digit]
    return near - (near - value) % TICKS


class WordFinder:
    """Finds the new words in displayed text. Repeated text, such as the beginning of a block that is sent again, counts once."""

    def __init__(self, started: int) -> None:
        """``started``: the tick of the question; an apparently older word is not part of the answer."""
        self._last = started
        self._rest = ""

    def feed(self, text: str, now: int) -> list[int]:
        """The ticks of the new words in ``text``, HTML or plain, received at the tick ``now``."""
        text = _TAG.sub(" ", self._rest + text)
        cut = _CUT.search(text)
        self._rest = cut[0] if cut else ""
        new = [tick for tick in (tick_of(found, now) for found in _WORD.findall(text)) if tick > self._last]
        if new:
            self._last = max(new)
        return new
