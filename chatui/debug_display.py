"""What the debug view may show: every frame of a branch with its header, as text. Behind ``access.view_hidden`` only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from chatui import transcripts
from chatui.models import Conversation, Message, User
from renderer.gate import Audience, VisibleText, as_debug_text, show


@dataclass(frozen=True, slots=True)
class ShownFrame:
    """One frame, ready for the debug view. ``visible`` tells whether the end user saw it."""

    message_id: str
    position: int
    header: dict[str, str]
    text: VisibleText = field(repr=False)
    terminator: str
    code: str
    header_as_it_came: VisibleText | None = field(repr=False)
    visible: bool
    author: str
    created_at: datetime


def frames(row: Conversation, person: User) -> list[ShownFrame]:
    """The open branch, whole. For a conversation of somebody else, the branch that its owner has open."""
    return [_shown(message) for message in transcripts.branch(row, transcripts.active_leaf(row, person))]


def _shown(message: Message) -> ShownFrame:
    frame = transcripts.frame_of(message)
    return ShownFrame(
        message_id=str(message.pk),
        position=message.position,
        header=frame.header.as_written(),
        text=show(frame, Audience.DEBUG),
        terminator=frame.terminator.value,
        code=message.error_code,
        header_as_it_came=as_debug_text(bytes(message.raw).decode()) if message.raw else None,
        visible=message.is_visible,
        author=message.author,
        created_at=message.created_at,
    )
