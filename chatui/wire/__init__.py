"""The WebSocket protocol: every command that a browser may send, and every event that the server may send, with fields and types.

Python encodes and parses messages only with these definitions. ``static/js/wire/wire.js`` is generated from them (``make wire``).

Events to a group go to people with different languages, so they contain codes (``replies``), and the page looks the sentence up in its own
catalogue. HTML that contains our own texts names its language, which is that of the requesting page; a page in another language fetches its
own version.

``bus`` delivers what the rooms send: to one group for each audience. In this process that takes no database, network or thread; a relay
over Redis carries it to other processes that have followers.
"""

from __future__ import annotations

from chatui.wire.base import *
from chatui.wire.commands import *
from chatui.wire.replies import *
from chatui.wire.turn_events import *

PROTOCOL = 9
"""The version of the protocol. Pages with another version are asked to reload. Increase it with every change that breaks older pages."""

END_USER_EVENTS: tuple[type[Event], ...] = (
    Accepted,
    Refused,
    Idle,
    TitleChanged,
    Listed,
    Answered,
    AnswerSeen,
    AnswerWaits,
    Archived,
    Unlisted,
    FolderKept,
    FolderGone,
    Rated,
    Closing,
    Ping,
    Alive,
    TurnCreated,
    WorkingBegan,
    SummaryStep,
    ThoughtEnded,
    MessageBegan,
    MessageRelabelled,
    MessageWithdrawn,
    BlockReplaced,
    BlockGrew,
    BlockFlushed,
    Queued,
    CallsWait,
    FilesCame,
    Checking,
    Saving,
    TurnEnded,
    Beat,
    Snapshot,
)
"""All events that the server may send to the chat page."""

DEBUG_EVENTS: tuple[type[Event], ...] = (FrameBegan, FrameGrew, FrameHidden, FrameEnded, DebugSnapshot)
"""Events for staff only, who need the permission to see hidden channels and must have opened the debug view."""

DEBUG_PAGE_EVENTS: tuple[type[Event], ...] = (Refused, Idle, TitleChanged, Closing, Ping, Alive, *DEBUG_EVENTS)
"""All events that the server may send to the page of the debug view."""
