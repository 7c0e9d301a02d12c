"""Trims a conversation to the length of a prompt.

The last turn always stays, then documents, then the most recent messages. Documents take precedence over messages, because people attach
one to ask several questions about it.
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
_PLACEHOLDER = "[{} was attached here. It does not fit any more, so its text is left out.]"


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The frames that stay, in order, and their ``length``, in the unit of ``length_of``.

    ``turns_left_out``: how many questions were removed or lost part of their turn. ``is_minimal``: no more can be left out.
    """

    frames: tuple[Frame, ...] = field(repr=False)
    length: float
    turns_left_out: int
    is_minimal: bool


def trim(turns: Sequence[Sequence[Frame]], length_of: Callable[[Frame], float], max_length: float | None, *, min_turns: int = 1) -> Trimmed:
    """The conversation, trimmed to a length of at most ``max_length``. The last ``min_turns`` turns always stay.

    Earlier documents stay while they fit, the newest first; each of the others is replaced by one line. The remaining room is filled with
    the last of the earlier turns.
    """
    split = max(len(turns) - min_turns, 0)
    earlier, always = turns[:split], [frame for turn in turns[split:] for frame in turn]
    lengths = [[length_of(frame) for frame in turn] for turn in turns]
    whole = sum(map(sum, lengths))
    if max_length is None or whole <= max_length:
        return Trimmed(tuple(frame for turn in turns for frame in turn), whole, 0, is_minimal=not split)
    choice = _Choice(max_length - sum(map(sum, lengths[split:])), length_of)
    documents = [choice.documents(earlier[number], lengths[number]) for number in range(split - 1, -1, -1)][::-1]
    first = choice.first(earlier, lengths)
    frames: list[Frame] = []
    left_out = 0
    for number, turn in enumerate(earlier):
        messages = {place: frame for place, frame in enumerate(turn) if number >= first and not is_document(frame.header)}
        stays = [frame for _, frame in sorted((messages | documents[number]).items(), key=itemgetter(0))]
        left_out += 0 if stays == list(turn) else questions(turn)
        frames += stays
    return Trimmed((*frames, *always), max_length - choice.left, left_out, is_minimal=first == split and not choice.has_document)


class _Choice:
    """The choice of what stays. ``left``: the length that is still available."""

    def __init__(self, left: float, length_of: Callable[[Frame], float]) -> None:
        self.left = left
        self.has_document = False
        self._length_of = length_of

    def documents(self, turn: Sequence[Frame], lengths: Sequence[float]) -> dict[int, Frame]:
        """The documents of a turn that stay, and the placeholders of the others, by index in the turn."""
        found: dict[int, Frame] = {}
        for place in range(len(turn) - 1, -1, -1):
            frame = turn[place]
            if not is_document(frame.header):
                continue
            if lengths[place] <= self.left:
                found[place], self.has_document = frame, True
                self.left -= lengths[place]
            elif (length := self._length_of(placeholder := _placeholder_for(frame))) <= self.left:
                found[place] = placeholder
                self.left -= length
        return found

    def first(self, turns: Sequence[Sequence[Frame]], lengths: Sequence[Sequence[float]]) -> int:
        """The index of the first turn whose other frames all stay, as do those of all later turns."""
        number = len(turns)
        while number:
            pairs = zip(turns[number - 1], lengths[number - 1], strict=True)
            length = sum(each for frame, each in pairs if not is_document(frame.header))
            if length > self.left:
                break
            self.left -= length
            number -= 1
        return number


def _placeholder_for(document: Frame) -> Frame:
    name = _NAME.match(document.body)
    return replace(document, body=_PLACEHOLDER.format(f'The document "{name[1]}"' if name else "A document"))
