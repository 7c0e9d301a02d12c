"""Selects the earlier frames that are sent to the model again.

Specification sections 7 and 12.7, and Harmony's format guide: after a final message, the analysis before it is not sent again, nor are
calls and replies on the analysis channel. Analysis after the last final message (an unfinished tool loop) stays. A call is only sent
together with its reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from renderer.frame_kinds import PRODUCT_NAMES, is_answer
from renderer.frames import Channel, Frame, Intent, Role, Terminator


def seen_again(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The frames of a branch that are sent to the model again, in order, with ``<|return|>`` replaced by ``<|end|>``."""
    last_final = max((index for index, frame in enumerate(frames) if is_answer(frame.header)), default=-1)
    kept = [frame for index, frame in enumerate(frames) if not _is_spent(frame, index < last_final)]
    return tuple(_for_prompt(frame) for frame in _paired(kept))


def _is_spent(frame: Frame, before_last_final: bool) -> bool:
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
