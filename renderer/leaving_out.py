"""Chooses what stays in a prompt that is too short for the whole conversation: the last turn, documents, and the most recent messages.

Documents come before what was said: people attach one to ask several questions about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from renderer.frame_kinds import is_document
from renderer.frames import Frame
from renderer.history import questions

_NAME = re.compile(r'\[Attached document "([^"\n]{1,200})"')
_GONE = "[{} was attached here. It does not fit any more, so its text is left out.]"


@dataclass(frozen=True, slots=True)
class Kept:
    """What stays, in order, and its ``length``, in the measure that it was weighed with.

    ``turns_left_out``: how many questions are not there with all that belongs to them. ``is_least``: nothing more can be left out.
    """

    frames: tuple[Frame, ...] = field(repr=False)
    length: float
    turns_left_out: int
    is_least: bool


def kept(turns: Sequence[Sequence[Frame]], length_of: Callable[[Frame], float], most: float | None, *, least: int = 1) -> Kept:
    """As much as has at most this length. The ``least`` last turns always stay.

    Each earlier document that fits stays, the newest first, and of the others one line; what else fits are the last of the earlier turns.
    """
    split = max(len(turns) - least, 0)
    earlier, always = turns[:split], [frame for turn in turns[split:] for frame in turn]
    lengths = [[length_of(frame) for frame in turn] for turn in turns]
    whole = sum(map(sum, lengths))
    if most is None or whole <= most:
        return Kept(tuple(frame for turn in turns for frame in turn), whole, 0, is_least=not split)
    choice = _Choice(most - sum(map(sum, lengths[split:])), length_of)
    documents = [choice.documents(earlier[number], lengths[number]) for number in range(split - 1, -1, -1)][::-1]
    first = choice.first(earlier, lengths)
    frames: list[Frame] = []
    left_out = 0
    for number, turn in enumerate(earlier):
        said = {place: frame for place, frame in enumerate(turn) if number >= first and not is_document(frame.header)}
        stays = [frame for _, frame in sorted((said | documents[number]).items(), key=itemgetter(0))]
        left_out += 0 if stays == list(turn) else questions(turn)
        frames += stays
    return Kept((*frames, *always), most - choice.left, left_out, is_least=first == split and not choice.has_document)


class _Choice:
    """``left``: how much more fits."""

    def __init__(self, left: float, length_of: Callable[[Frame], float]) -> None:
        self.left = left
        self.has_document = False
        self._length_of = length_of

    def documents(self, turn: Sequence[Frame], lengths: Sequence[float]) -> dict[int, Frame]:
        """By their places in a turn, its documents that stay, and the lines that stand for others."""
        found: dict[int, Frame] = {}
        for place in range(len(turn) - 1, -1, -1):
            frame = turn[place]
            if not is_document(frame.header):
                continue
            if lengths[place] <= self.left:
                found[place], self.has_document = frame, True
                self.left -= lengths[place]
            elif (length := self._length_of(line := _line_for(frame))) <= self.left:
                found[place] = line
                self.left -= length
        return found

    def first(self, turns: Sequence[Sequence[Frame]], lengths: Sequence[Sequence[float]]) -> int:
        """The number of the first turn of which everything else stays, with all behind it."""
        number = len(turns)
        while number:
            pairs = zip(turns[number - 1], lengths[number - 1], strict=True)
            length = sum(each for frame, each in pairs if not is_document(frame.header))
            if length > self.left:
                break
            self.left -= length
            number -= 1
        return number


def _line_for(document: Frame) -> Frame:
    name = _NAME.match(document.body)
    return replace(document, body=_GONE.format(f'The document "{name[1]}"' if name else "A document"))
