"""Makes call ids unique within a conversation, because some servers restart their numbering with each completion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import uuid4

from renderer.events import FrameOpened, RawEvent
from renderer.frame_kinds import addresses_tool
from renderer.frames import Header, Role


class CallIds:
    """Replaces repeated call ids.

    ``feed`` each event of a turn: a call with an id that was used before gets a new one, and so does its reply.
    """

    def __init__(self, used: Iterable[str]) -> None:
        """``used``: the ids of earlier calls."""
        self._used = set(used)
        self._renamed: dict[str, str] = {}

    def feed(self, event: RawEvent) -> RawEvent:
        """The event, with an id that no other call has."""
        if not isinstance(event, FrameOpened) or event.header.call_id is None:
            return event
        call_id = event.header.call_id
        if event.header.role == Role.TOOL:
            return replace(event, header=replace(event.header, call_id=self._renamed.get(call_id, call_id)))
        return replace(event, header=self._unique(event.header, call_id)) if addresses_tool(event.header) else event

    def _unique(self, header: Header, call_id: str) -> Header:
        if call_id in self._used:
            self._renamed[call_id] = f"call_{uuid4().hex}"
            header = replace(header, call_id=self._renamed[call_id])
        self._used.add(self._renamed.get(call_id, call_id))
        return header
