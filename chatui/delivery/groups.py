"""The names of the message groups. Each audience has its own, so that hidden text is never sent to end users."""

from __future__ import annotations

from uuid import UUID

from renderer.gate import Audience

OWN_PROCESS = "process"
"""All sockets of a process. Only it knows this group."""


def audience(conversation_id: UUID, audience: Audience) -> str:
    """The sockets of one audience that follow a conversation."""
    return f"conversation-{conversation_id}-{audience}"


def control(turn_id: UUID) -> str:
    """The group on which a running turn receives requests to stop or to send a snapshot. Only its own process knows it."""
    return f"turn-{turn_id}"


def turns_of(conversation_id: UUID) -> str:
    """Sockets that are notified, without any content, when a turn begins in a conversation."""
    return f"turns-of-{conversation_id}"


def person(person_id: UUID) -> str:
    """The sockets of one person."""
    return f"person-{person_id}"
