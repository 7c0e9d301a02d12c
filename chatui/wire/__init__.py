"""The WebSocket protocol: every command that a browser may send, every event that the server may send, with their fields and types.

Python encodes and reads by these definitions alone. ``static/js/models/wire.js`` is generated from them (``make wire``).
"""

from __future__ import annotations

from chatui.wire.base import Event, Numbered, encode
from chatui.wire.commands import (
    COMMANDS,
    Ask,
    Command,
    Continue,
    Edit,
    Reference,
    Regenerate,
    Send,
    Stop,
    Subscribe,
    UnreadableCommandError,
    Watch,
    read_command,
)
from chatui.wire.debug_events import DebugSnapshot, FrameBegan, FrameEnded, FrameGrew, FrameHidden, FrameSoFar
from chatui.wire.replies import Accepted, Closing, Idle, Refused, TitleChanged
from chatui.wire.turn_events import (
    BlockFlushed,
    BlockGrew,
    BlockReplaced,
    DeltaType,
    EndType,
    MessageBegan,
    MessageRelabelled,
    MessageSoFar,
    MessageWithdrawn,
    PartKind,
    Snapshot,
    SummaryStep,
    ThoughtEnded,
    TurnCreated,
    TurnEnded,
    TurnEvent,
    WorkingBegan,
)

END_USER_EVENTS: tuple[type[Event], ...] = (
    Accepted,
    Refused,
    Idle,
    TitleChanged,
    Closing,
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
    TurnEnded,
    Snapshot,
)
"""All events that the chat page may be sent."""

DEBUG_EVENTS: tuple[type[Event], ...] = (FrameBegan, FrameGrew, FrameHidden, FrameEnded, DebugSnapshot)
"""Events for staff only: they need the permission to see hidden channels, and must have opened the debug view."""

DEBUG_PAGE_EVENTS: tuple[type[Event], ...] = (Refused, Idle, TitleChanged, Closing, *DEBUG_EVENTS)
"""All events that the debug view's page may be sent."""

__all__ = [
    "COMMANDS",
    "DEBUG_EVENTS",
    "DEBUG_PAGE_EVENTS",
    "END_USER_EVENTS",
    "Accepted",
    "Ask",
    "BlockFlushed",
    "BlockGrew",
    "BlockReplaced",
    "Closing",
    "Command",
    "Continue",
    "DebugSnapshot",
    "DeltaType",
    "Edit",
    "EndType",
    "Event",
    "FrameBegan",
    "FrameEnded",
    "FrameGrew",
    "FrameHidden",
    "FrameSoFar",
    "Idle",
    "MessageBegan",
    "MessageRelabelled",
    "MessageSoFar",
    "MessageWithdrawn",
    "Numbered",
    "PartKind",
    "Reference",
    "Refused",
    "Regenerate",
    "Send",
    "Snapshot",
    "Stop",
    "Subscribe",
    "SummaryStep",
    "ThoughtEnded",
    "TitleChanged",
    "TurnCreated",
    "TurnEnded",
    "TurnEvent",
    "UnreadableCommandError",
    "Watch",
    "WorkingBegan",
    "encode",
    "read_command",
]
