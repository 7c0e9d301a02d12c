"""Reads a conversation of the archive that “Download everything” makes here: its ``…-versions.json``, with every branch.

Each message is read as in OpenChatML's JSON form, leniently: what cannot be understood is hidden, and the gate decides about the rest, as
for a transcript. Anybody can write such a file, so a message is trusted no more than one of a transcript.
"""

from __future__ import annotations

import json

from chatui.transfer.other_products.conversation_tree import Counts, DroppedKind, ExportedConversation, Node, Object, time_of
from renderer.errors import OpenChatMLError
from renderer.frames import Frame
from renderer.gate import Audience, may_see
from renderer.ocml import interchange
from renderer.strict_json import list_of, object_of, text_of

_OURS = ("id", "parent", "ended_at", "is_complete", "rating")
"""What ``exports`` adds to a message of OpenChatML."""


def is_conversation(value: Object) -> bool:
    return isinstance(value.get("messages"), list) and {"open", "active_at", "archived_at"} <= value.keys()


def read(value: Object) -> ExportedConversation:
    counts = Counts()
    nodes = [_node(f"#{number}", object_of(message), counts) for number, message in enumerate(list_of(value["messages"]))]
    return ExportedConversation(
        source="",
        nodes=nodes,
        current=text_of(value.get("open")),
        title=text_of(value.get("title")),
        created_at=time_of(value.get("created_at")),
        active_at=time_of(value.get("active_at")),
        left_out=counts,
        is_archived=bool(value.get("archived_at")),
        is_pinned=value.get("is_pinned") is True,
    )


def _node(number: str, message: Object, counts: Counts) -> Node:
    return Node(
        key=text_of(message.get("id")) or number,
        parent=text_of(message.get("parent")) or None,
        frames=_frames(message, counts),
        is_complete=message.get("is_complete") is not False,
        at=time_of(message.get("ended_at")),
    )


def _frames(message: Object, counts: Counts) -> tuple[Frame, ...]:
    text = json.dumps({name: value for name, value in message.items() if name not in _OURS})
    try:
        found = interchange.read_leniently(text).frames if text_of(message.get("role")) else ()
    except OpenChatMLError:
        found = ()
    if not found:
        counts[DroppedKind.UNREADABLE] += 1
    counts[DroppedKind.HIDDEN] += sum(not may_see(frame.header, Audience.END_USER) for frame in found)
    return found
