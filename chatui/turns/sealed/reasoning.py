"""Collects a turn's reasoning and seals it into the token that the program receives instead."""

from __future__ import annotations

from uuid import UUID

from chatui.turns.sealed import tokens
from chatui.turns.sealed.tokens import Purpose
from renderer.events import FrameClosed, FrameOpened, FrameText, FrameWithdrawn, RawEvent
from renderer.frame_kinds import is_reasoning
from renderer.frames import Terminator
from renderer.gate import Audience, may_see


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
                return tokens.seal(self._person, Purpose.REASONING, self._texts)
        return None
