"""The events of a background response: as in a normal stream, but it begins as queued."""

from __future__ import annotations

from collections.abc import Iterator

from chatui.api.writing.response_events import Event, ResponseEvents
from chatui.api.writing.response_object import Head, Item, response_object
from chatui.turns.streams.program import ProgramEvent


class BackgroundEvents(ResponseEvents):
    """The response is queued until the model writes its first event."""

    _has_begun = False

    def begin(self) -> Iterator[Event]:
        """The events that announce the queued response."""
        for kind in ("response.created", "response.queued"):
            yield self._event(kind, response=queued(self._head))

    def feed(self, event: ProgramEvent) -> Iterator[Event]:
        """The API events for one event of the turn."""
        if not self._has_begun:
            self._has_begun = True
            yield self._event("response.in_progress", response=response_object(self._head, []))
        yield from super().feed(event)


def queued(head: Head) -> Item:
    """The response object before any output is written."""
    return response_object(head, []) | {"status": "queued"}
