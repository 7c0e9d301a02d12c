"""Selects the earlier frames that are sent to the model again.

Specification sections 7 and 12.7, and Harmony's format guide: after a final message, the analysis before it is not sent again, nor are
calls and replies on the analysis channel. Analysis after the last final message (an unfinished tool loop) stays. A call is only sent
together with its reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from renderer.frame_kinds import PRODUCT_NAMES, is_answer, is_document
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


def _paired(frames: Iterable[Frame]) -> list[Frame]:
    frames = list(frames)
    calls = {frame.header.call_id for frame in frames if frame.terminator is Terminator.CALL}
    replies = {frame.header.call_id for frame in frames if frame.header.role == Role.TOOL}
    whole = (calls & replies) - {None}
    return [frame for frame in frames if not _is_tool_traffic(frame) or frame.header.call_id in whole]


def _is_tool_traffic(frame: Frame) -> bool:
    return frame.terminator is Terminator.CALL or frame.header.role == Role.TOOL


def _for_prompt(frame: Frame) -> Frame:
    if frame.terminator is not Terminator.RETURN:
        return frame
    return Frame(frame.header, frame.body, Terminator.END)


def turns(frames: Iterable[Frame]) -> tuple[list[Frame], list[list[Frame]]]:
    """The frames before the first question, then each question with everything up to the next: each can be left out as a whole. The
    documents attached to a question come before it and belong to its turn. If the reply to a call only comes after a later question, these
    turns count as one, so that the call and its reply are never separated.
    """
    found: list[list[Frame]] = [[]]
    calls: dict[str | None, int] = {}
    for frame in frames:
        header = frame.header
        if header.role == Role.USER and not (found[-1] and is_document(found[-1][-1].header)):
            found.append([])
        elif header.role == Role.TOOL and (place := calls.pop(header.call_id, len(found))) < len(found) - 1:
            found[place:] = [[each for turn in found[place:] for each in turn]]
            calls = {call_id: min(known, place) for call_id, known in calls.items()}
        found[-1].append(frame)
        if frame.terminator is Terminator.CALL:
            calls[header.call_id] = len(found) - 1
    has_question = any(frame.header.role == Role.USER for frame in found[0])
    return ([], found) if has_question else (found[0], found[1:])


def questions(frames: Iterable[Frame]) -> int:
    """How many of these frames are questions. A document is not one."""
    return sum(frame.header.role == Role.USER and not is_document(frame.header) for frame in frames)
