"""Continuing a truncated answer: whether it is possible, and where in the tree of messages the continuation goes.

A cut answer is stored as it is. Its continuation is stored beside it, as one message that holds the old text and the new. So every page,
copy, download and prompt has one whole answer, and the cut one remains as another version.

``turns.start`` creates the turn (``Kind.CONTINUE``), ``turns.frame_recorder`` prepends the old text to the new, and
``turns.streams.end_user`` sends only what is new to a page that shows the old text. A backend opens the answer in its prompt where it can.
If it cannot, or if there is no text yet, ``backends.continuation`` asks in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from chatui.codes import ProductCode
from chatui.models.message import Message
from chatui.models.turn import Turn, TurnState
from chatui.store import transcripts
from renderer import frame_kinds
from renderer.frames import Channel

_UNFINISHED = (TurnState.STOPPED, TurnState.INCOMPLETE, TurnState.INTERRUPTED, TurnState.FAILED)


class Continuation(StrEnum):
    """How an answer is continued: from the end of its text, or from the beginning where it has no text yet."""

    CONTINUE = "continue"
    FINISH = "finish"


def continuation_of(turn: Turn, end: Message | None) -> Continuation | None:
    """How the answer of ``turn``, which ends in ``end``, can be continued. None if it is complete, still running, or empty."""
    if turn.state not in _UNFINISHED or turn.error_code == ProductCode.NO_MORE or end is None or end.turn_id is None:
        return None
    if is_answer(end):
        return None if end.is_complete else Continuation.CONTINUE
    return Continuation.FINISH


def end_of(turn: Turn, *, with_text: bool = False) -> Message | None:
    """The last message of a turn's answer; if the turn added nothing, the message that it continued. None if there is neither."""
    return end_among(turn, list(turn.messages.order_by("position").defer("raw", *(() if with_text else ("text",)))))


def end_among(turn: Turn, messages: Sequence[Message]) -> Message | None:
    """As ``end_of``, for messages of the turn that were already loaded."""
    if turn.continued_message is not None and not any(map(is_answer, messages)) and is_answer(turn.continued_message):
        return turn.continued_message
    return last_of(messages) or turn.continued_message


def last_of(messages: Sequence[Message]) -> Message | None:
    """The message in which an answer ends: the last one, or a cut text followed only by hidden messages."""
    for message in reversed(messages):
        if is_answer(message) and not message.is_complete:
            return message
        if message.is_visible:
            break
    return messages[-1] if messages else None


def cut_answer(turn: Turn) -> Message | None:
    """The cut text that the turn continues; None if the turn begins an answer."""
    return turn.continued_message if turn.continued_message is not None and is_answer(turn.continued_message) else None


def came_apart(cut: Message | None) -> bool:
    """Whether reasoning came in a place of its own before a cut answer, in the turn that wrote it or in a turn that it continues. Then the
    answer is no reasoning, whatever a continuation brings."""
    while cut is not None and cut.turn is not None:
        if cut.turn.messages.filter(channel=Channel.ANALYSIS, intent="", position__lt=cut.position).exists():
            return True
        cut = cut_answer(cut.turn)
    return False


def place_of(turn: Turn) -> Message:
    cut = cut_answer(turn)
    if cut is not None:
        return cut.parent or turn.question
    return turn.continued_message or turn.question


def is_answer(message: Message) -> bool:
    """Whether the message is the answer itself, not a preamble and not hidden."""
    return message.is_visible and frame_kinds.is_answer(transcripts.header_of(message))


def thought_seconds(turns: Iterable[Turn]) -> int | None:
    """The reasoning time of an answer: the seconds of all turns that wrote it, added up. None if none of them reasoned."""
    each = [turn.thought_seconds for turn in turns if turn.thought_seconds is not None]
    return sum(each) if each else None
