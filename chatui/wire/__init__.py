"""The WebSocket protocol: every command that a browser may send, every event that the server may send, with their fields and types.

Python encodes and reads by these definitions alone. ``static/js/wire/wire.js`` is generated from them (``make wire``).
"""

from __future__ import annotations

from chatui.wire.base import Event, Numbered, encode
from chatui.wire.commands import (
    COMMANDS,
    Ask,
    Command,
    Continue,
    Edit,
    Pong,
    Probe,
    Reference,
    Regenerate,
    See,
    Send,
    Stop,
    Subscribe,
    UnreadableCommandError,
    Watch,
    read_command,
)
from chatui.wire.compact import Compactor, Expander
from chatui.wire.debug_events import DebugSnapshot, FrameBegan, FrameEnded, FrameGrew, FrameHidden, FrameSoFar
from chatui.wire.replies import Accepted, Alive, Answered, AnswerSeen, Closing, Idle, Listed, Ping, Refused, TitleChanged, Unlisted
from chatui.wire.turn_events import (
    Beat,
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
    Queued,
    Saving,
    Snapshot,
    SummaryStep,
    ThoughtEnded,
    TurnCreated,
    TurnEnded,
    TurnEvent,
    WorkingBegan,
)

PROTOCOL = 3
"""The version of the protocol. A page of another version is told to reload, so every change that such a page would not bear raises it."""

END_USER_EVENTS: tuple[type[Event], ...] = (
    Accepted,
    Refused,
    Idle,
    TitleChanged,
    Listed,
    Answered,
    AnswerSeen,
    Unlisted,
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
    Saving,
    TurnEnded,
    Beat,
    Snapshot,
)
"""All events that the chat page may be sent."""

DEBUG_EVENTS: tuple[type[Event], ...] = (FrameBegan, FrameGrew, FrameHidden, FrameEnded, DebugSnapshot)
"""Events for staff only: they need the permission to see hidden channels, and must have opened the debug view."""

DEBUG_PAGE_EVENTS: tuple[type[Event], ...] = (Refused, Idle, TitleChanged, Closing, Ping, Alive, *DEBUG_EVENTS)
"""All events that the debug view's page may be sent."""

__all__ = [
    "COMMANDS",
    "DEBUG_EVENTS",
    "DEBUG_PAGE_EVENTS",
    "END_USER_EVENTS",
    "PROTOCOL",
    "Accepted",
    "Alive",
    "AnswerSeen",
    "Answered",
    "Ask",
    "Beat",
    "BlockFlushed",
    "BlockGrew",
    "BlockReplaced",
    "Closing",
    "Command",
    "Compactor",
    "Continue",
    "DebugSnapshot",
    "DeltaType",
    "Edit",
    "EndType",
    "Event",
    "Expander",
    "FrameBegan",
    "FrameEnded",
    "FrameGrew",
    "FrameHidden",
    "FrameSoFar",
    "Idle",
    "Listed",
    "MessageBegan",
    "MessageRelabelled",
    "MessageSoFar",
    "MessageWithdrawn",
    "Numbered",
    "PartKind",
    "Ping",
    "Pong",
    "Probe",
    "Queued",
    "Reference",
    "Refused",
    "Regenerate",
    "Saving",
    "See",
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
    "Unlisted",
    "UnreadableCommandError",
    "Watch",
    "WorkingBegan",
    "encode",
    "read_command",
]
