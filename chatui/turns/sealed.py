"""Seals texts into tokens and opens them, and gives a program the sealed reasoning of a turn in place of the reasoning itself.

A token (``chatui.sealing``) is bound to a person, a purpose and a time. The plain text is padded to one of a few lengths. A token that is
forged, another person's, for another purpose or expired opens to nothing, without saying which of these was the reason.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from enum import StrEnum
from uuid import UUID

from chatui import sealing
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import is_reasoning
from renderer.frames import Terminator
from renderer.gate import Audience, may_see

SMALLEST, LARGEST = 2**11, 2**18
"""The padded lengths in bytes before encryption, including time and length, are the powers of two between these."""
MAX_CHARS = 4 * LARGEST // 3 + 1024
"""A longer token is rejected without trying to decrypt it."""

_AHEAD_SECONDS = 60
"""How much the clocks of two servers may differ."""


class Purpose(StrEnum):
    """What a token contains: the model's reasoning, or the summary of a compacted conversation."""

    REASONING = "reasoning"
    COMPACTION = "compaction"


LASTS_SECONDS = {Purpose.REASONING: 24 * 60 * 60, Purpose.COMPACTION: 30 * 24 * 60 * 60}
"""How long tokens are valid. Reasoning is needed only until its calls have been replied to: a later continuation works without it. A
compacted conversation is needed for longer, because nothing else holds its messages."""


def seal(person: UUID, purpose: Purpose, texts: Sequence[str]) -> str | None:
    """A token that contains the texts; None if they are too long for one."""
    content = json.dumps(list(texts), ensure_ascii=False).encode("utf-8", "replace")
    head = int(time.time()).to_bytes(8, "big") + len(content).to_bytes(4, "big")
    size = SMALLEST
    while size < len(head) + len(content):
        size *= 2
    if size > LARGEST:
        return None
    return sealing.seal((head + content).ljust(size, b"\0"), _bound(person, purpose))


def unseal(person: UUID, purpose: Purpose, token: str) -> tuple[str, ...]:
    """The texts of a token that this server sealed for this person and purpose, if it has not expired; otherwise none."""
    plain = (sealing.unseal(token, _bound(person, purpose)) if len(token) <= MAX_CHARS else None) or b""
    age = time.time() - int.from_bytes(plain[:8], "big")
    if not plain or not -_AHEAD_SECONDS <= age <= LASTS_SECONDS[purpose]:
        return ()
    return tuple(json.loads(plain[12 : 12 + int.from_bytes(plain[8:12], "big")]))


def _bound(person: UUID, purpose: Purpose) -> bytes:
    return f"{purpose.value} {person.hex}".encode()


class SealedReasoning:
    """Seals the reasoning of one turn. ``feed`` takes each raw event, and after each frame of reasoning returns a token of all reasoning
    since the last visible frame or call. The texts never appear in a ``repr``."""

    def __init__(self, person: UUID) -> None:
        self._person = person
        self._texts: list[str] = []
        self._open: list[str] | None = None

    def feed(self, event: RawEvent) -> str | None:
        """The token, if a frame of reasoning has ended; None otherwise, and if the text is too long for a token."""
        match event:
            case FrameOpened(header=header):
                self._open = [] if is_reasoning(header) else None
                if may_see(header, Audience.PROGRAM):
                    self._texts.clear()
            case FrameText(text=text) if self._open is not None:
                self._open.append(text)
            case FrameWithdrawn():
                self._open = None
            case FrameClosed(terminator=Terminator.CALL):
                self._texts.clear()
            case FrameClosed() if self._open is not None:
                self._texts.append("".join(self._open))
                self._open = None
                return seal(self._person, Purpose.REASONING, self._texts)
        return None
