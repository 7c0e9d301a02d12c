"""The WebSocket protocol: every command that a browser may send, and every event that the server may send, with fields and types.

Python encodes and parses messages only with these definitions. ``static/js/wire/wire.js`` is generated from them (``make wire``).

Events to a group go to people with different languages, so they contain codes (``replies``), and the page looks the sentence up in its own
catalogue. HTML that contains our own texts names its language, which is that of the requesting page; a page in another language fetches its
own version.

``bus`` delivers what the rooms send: to one group for each audience. In this process that takes no database, network or thread; a relay
over Redis carries it to other processes that have followers.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from chatui.wire import replies, turn_events
from chatui.wire.base import *
from chatui.wire.commands import *
from chatui.wire.replies import *
from chatui.wire.turn_events import *

PROTOCOL = 10
"""The version of the protocol. Pages with another version are asked to reload. Increase it with every change that breaks older pages."""

DEBUG_EVENTS: tuple[type[Event], ...] = (FrameBegan, FrameGrew, FrameHidden, FrameEnded, DebugSnapshot)
"""Events for staff only, who need the permission to see hidden channels and must have opened the debug view."""

DEBUG_PAGE_EVENTS: tuple[type[Event], ...] = (Refused, Idle, TitleChanged, Closing, Ping, Alive, *DEBUG_EVENTS)
"""All events that the server may send to the page of the debug view."""


def _events(module: ModuleType) -> Iterator[type[Event]]:
    """The events that a module defines. The classes that they are based on have no type."""
    return (each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Event) and each.types)


END_USER_EVENTS: tuple[type[Event], ...] = tuple(event for event in (*_events(replies), *_events(turn_events)) if event not in DEBUG_EVENTS)
"""All events that the server may send to the chat page. The review of what it may be sent (``tests/canary``) lists each with its fields."""
