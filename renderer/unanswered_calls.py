"""Hides what a model writes after a tool call that has no reply yet.

A call ends sampling (specification section 12, rule 8). Further calls of the same completion may follow it; an answer, a preamble or
reasoning that follows was written without the tool's reply. Such text is stored, hidden and flagged ``E-CALL-SCHEMA``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from renderer.errors import Code
from renderer.events import FrameClosed, FrameOpened, RawEvent
from renderer.frame_kinds import addresses_tool
from renderer.frames import Header, Intent, Role, Terminator


class UnansweredCalls:
    """The events of one completion, in order, with everything after a call hidden from its beginning."""

    def __init__(self) -> None:
        self._awaits_reply = False
        self._hides = False

    def feed_all(self, events: Iterable[RawEvent]) -> list[RawEvent]:
        """Take the next events and return them, hidden if they follow an unanswered call."""
        return [self.feed(event) for event in events]

    def feed(self, event: RawEvent) -> RawEvent:
        """Take the next event and return it, hidden if it follows an unanswered call."""
        match event:
            case FrameOpened(header=header):
                self._awaits_reply = self._awaits_reply and header.role != Role.TOOL
                self._hides = self._awaits_reply and not addresses_tool(header)
                return replace(event, header=hidden(header)) if self._hides else event
            case FrameClosed(terminator=terminator, error=error):
                self._awaits_reply = self._awaits_reply or terminator is Terminator.CALL
                if self._hides:
                    return FrameClosed(terminator and Terminator.END, error or Code.CALL_SCHEMA)
        return event


def hidden(header: Header) -> Header:
    """The header of a frame that follows an unanswered call."""
    return replace(header, intent=Intent.DEBUG)
