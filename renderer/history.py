"""Selects the earlier frames that are sent to the model again, and trims a conversation to the length of a prompt.

Specification sections 7 and 12.7, and Harmony's format guide: after a final message, the analysis before it is not sent again, nor are
calls and replies on the analysis channel. Analysis after the last final message (an unfinished tool loop) stays. A call is only sent
together with its reply.

In a trimmed conversation the last turn always stays, then documents, then the most recent messages. Documents take precedence over
messages, because people attach one to ask several questions about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from renderer.frame_kinds import PRODUCT_NAMES, is_answer, is_document, may_answer
from renderer.frames import Channel, Frame, Intent, Role, Terminator


def frames_for_prompt(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The frames of a branch that are sent to the model again, in order, with ``<|return|>`` replaced by ``<|end|>``."""
    last_final = max((index for index, frame in enumerate(frames) if is_answer(frame.header)), default=-1)
    remaining = [frame for index, frame in enumerate(frames) if not _is_dropped(frame, index < last_final)]
    return tuple(_for_prompt(frame) for frame in _paired(remaining))


def _is_dropped(frame: Frame, before_last_final: bool) -> bool:
    header = frame.header
    if header.intent in (Intent.DEBUG, Intent.STATUS):
        return True
    if header.role == Role.ASSISTANT and header.name in PRODUCT_NAMES:
        return True
    return before_last_final and header.channel == Channel.ANALYSIS


def _paired(frames: Sequence[Frame]) -> list[Frame]:
    """The frames without calls that nobody answered, and without replies to nobody. A call and the next reply to its id are a pair, if the
    tool may answer that call; either way the id is free again then. While a call waits, no other takes its id.
    """
    waiting: dict[str, int] = {}
    kept: set[int] = set()
    for index, frame in enumerate(frames):
        call_id = frame.header.call_id
        if call_id is None:
            continue
        if frame.terminator is Terminator.CALL:
            waiting.setdefault(call_id, index)
        elif frame.header.role == Role.TOOL and call_id in waiting:
            call = waiting.pop(call_id)
            if may_answer(frame.header.name, frames[call].header.recipient or ""):
                kept |= {call, index}
    return [frame for index, frame in enumerate(frames) if index in kept or not _is_traffic(frame)]


def _is_traffic(frame: Frame) -> bool:
    return frame.terminator is Terminator.CALL or frame.header.role == Role.TOOL


def _for_prompt(frame: Frame) -> Frame:
    if frame.terminator is not Terminator.RETURN:
        return frame
    return Frame(frame.header, frame.body, Terminator.END)


def turns(frames: Iterable[Frame]) -> tuple[list[Frame], list[list[Frame]]]:
    """The frames before the first question, and the turns: a question with everything up to the next one, which may be left out as a whole.

    Documents that are attached to a question come before it, and belong to its turn. If the reply to a call only comes after a later
    question, all turns from the call to the reply are one, so that the two are never separated.
    """
    parts: list[list[Frame]] = [[]]  # what is before the first question, then the turns
    open_calls: dict[str | None, int] = {}  # in which part each call is that has no reply yet
    for frame in frames:
        header = frame.header
        if header.role == Role.USER and not (parts[-1] and is_document(parts[-1][-1].header)):
            parts.append([])
        elif header.role == Role.TOOL and (index := open_calls.pop(header.call_id, len(parts))) < len(parts) - 1:
            parts[index:] = [[earlier for part in parts[index:] for earlier in part]]
            open_calls = {call_id: min(known, index) for call_id, known in open_calls.items()}
        parts[-1].append(frame)
        if frame.terminator is Terminator.CALL:
            open_calls[header.call_id] = len(parts) - 1
    # A reply to a call from before the first question has made all of it one turn.
    has_question = any(frame.header.role == Role.USER for frame in parts[0])
    return ([], parts) if has_question else (parts[0], parts[1:])


def questions(frames: Iterable[Frame]) -> int:
    """How many of these frames are questions. A document is not one."""
    return sum(frame.header.role == Role.USER and not is_document(frame.header) for frame in frames)


_NAME = re.compile(r'\[Attached document "([^"\n]{1,200})"')
_PLACEHOLDER = "[{} was attached here. It does not fit any more, so its text is left out.]"


@dataclass(frozen=True, slots=True)
class Trimmed:
    """What is left of a history."""

    frames: tuple[Frame, ...] = field(repr=False)
    """Those that stay, in order."""
    length: float
    """The length of ``frames``, in the unit of ``length_of``."""
    turns_left_out: int
    """How many questions were removed or lost part of their turn."""
    is_minimal: bool
    """Whether no more can be left out."""


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
        messages = {index: frame for index, frame in enumerate(turn) if number >= first and not is_document(frame.header)}
        stays = [frame for _, frame in sorted((messages | documents[number]).items(), key=itemgetter(0))]
        left_out += 0 if stays == list(turn) else questions(turn)
        frames += stays
    return Trimmed((*frames, *always), max_length - choice.room, left_out, is_minimal=first == split and not choice.has_document)


class _Choice:
    """The choice of what stays. ``room``: the length that is still available."""

    def __init__(self, room: float, length_of: Callable[[Frame], float]) -> None:
        self.room = room
        self.has_document = False
        self._length_of = length_of

    def documents(self, turn: Sequence[Frame], lengths: Sequence[float]) -> dict[int, Frame]:
        """The documents of a turn that stay, and the placeholders of the others, by index in the turn."""
        kept: dict[int, Frame] = {}
        for index in range(len(turn) - 1, -1, -1):
            frame = turn[index]
            if not is_document(frame.header):
                continue
            if lengths[index] <= self.room:
                kept[index], self.has_document = frame, True
                self.room -= lengths[index]
            elif (length := self._length_of(placeholder := _placeholder_for(frame))) <= self.room:
                kept[index] = placeholder
                self.room -= length
        return kept

    def first(self, turns: Sequence[Sequence[Frame]], lengths: Sequence[Sequence[float]]) -> int:
        """The index of the first turn whose other frames all stay, as do those of all later turns."""
        number = len(turns)
        while number:
            pairs = zip(turns[number - 1], lengths[number - 1], strict=True)
            length = sum(each for frame, each in pairs if not is_document(frame.header))
            if length > self.room:
                break
            self.room -= length
            number -= 1
        return number


def _placeholder_for(document: Frame) -> Frame:
    name = _NAME.match(document.body)
    return replace(document, body=_PLACEHOLDER.format(f'The document "{name[1]}"' if name else "A document"))
