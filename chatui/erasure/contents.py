"""What there is of a person in the database, in numbers: what an erasure takes away."""

from __future__ import annotations

from dataclasses import dataclass, fields

from chatui.models import Conversation, DebugRequest, Message, ShareLink, Turn, User


@dataclass(frozen=True, slots=True)
class Contents:
    """How many rows of each kind. Conversations in the bin count, too."""

    conversations: int
    messages: int
    turns: int
    share_links: int
    debug_requests: int

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, field.name)} {field.name.replace('_', ' ')}" for field in fields(self))


def contents_of(person: User) -> Contents:
    """Count what is theirs. Debug requests are those that they made, and those about what they wrote."""
    own = Conversation.objects.filter(owner=person)
    asked = DebugRequest.objects.filter(person=person)
    return Contents(
        conversations=own.count(),
        messages=Message.objects.filter(conversation__owner=person).count(),
        turns=Turn.objects.filter(conversation__owner=person).count(),
        share_links=ShareLink.objects.filter(created_by=person).count(),
        debug_requests=asked.count() + DebugRequest.objects.filter(conversation__owner=person).exclude(person=person).count(),
    )
