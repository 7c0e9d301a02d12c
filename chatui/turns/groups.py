"""The names of the channel-layer groups. Each audience has its own, so that hidden text is never sent to a group of end users."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from asgiref.sync import async_to_sync
from channels.exceptions import ChannelFull
from channels.layers import BaseChannelLayer, get_channel_layer
from redis.exceptions import RedisError

from renderer.gate import Audience

LAYER_ERRORS = (OSError, RedisError, ChannelFull)
"""What a channel layer raises when it is down or full. Losing a message is harmless: pages catch up with a snapshot."""


def layer() -> BaseChannelLayer:
    """The deployment's channel layer: in memory, or Redis."""
    found = get_channel_layer()
    if found is None:
        raise RuntimeError("CHANNEL_LAYERS has no default")
    return found


def audience(conversation_id: UUID, audience: Audience) -> str:
    """Everybody of one audience who follows a conversation."""
    return f"conversation-{conversation_id}-{audience}"


def control(turn_id: UUID) -> str:
    """The group on which a running turn receives requests to stop or to send a snapshot."""
    return f"turn-{turn_id}"


def turns_of(conversation_id: UUID) -> str:
    """Sockets that are told, without any content, that a turn began in a conversation."""
    return f"turns-of-{conversation_id}"


def person(person_id: UUID) -> str:
    """The sockets of one person."""
    return f"person-{person_id}"


def tell_person(person_id: UUID, message: Mapping[str, object]) -> None:
    """Send a message to every socket of a person, from synchronous code. Best effort: while the layer is down, it is lost."""
    try:
        async_to_sync(layer().group_send)(person(person_id), dict(message))
    except LAYER_ERRORS:
        return
