"""Asks a model for a few words for the product itself, such as a line of a summary or a title."""

from __future__ import annotations

import contextlib

from chatui.backends.base import Backend, EndReason, SampleEnded, SampleRequest
from chatui.store import transcripts
from renderer.events import FrameOpened, FrameText, FrameWithdrawn
from renderer.frame_kinds import is_answer


async def words_of(backend: Backend, request: SampleRequest, most_chars: int) -> str:
    """The answer, and nothing hidden: at most ``most_chars`` of it. Empty where it was withdrawn or cut off, or is far too long.

    Raises:
        BackendError: the server refused, failed, was silent or broke off.
    """
    parts: list[str] = []
    is_wanted, chars = False, 0
    async with contextlib.aclosing(backend.sample(request)) as events:
        async for event in events:
            match event:
                case FrameOpened(header=header):
                    is_wanted = is_answer(header)
                case FrameText(text=text):
                    chars += len(text)
                    if is_wanted:
                        parts.append(text)
                case FrameWithdrawn():
                    return ""
                case SampleEnded(reason=reason) if reason is not EndReason.STOP:
                    return ""
            if chars > 10 * most_chars:
                return ""
    return transcripts.storable("".join(parts)[:most_chars])
