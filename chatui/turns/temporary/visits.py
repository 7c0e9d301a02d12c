"""Tracks whether the page of a temporary conversation is still open."""

from __future__ import annotations

from chatui.models import Conversation, User
from chatui.store.temporary import lifetime


def leave(row: Conversation) -> bool:
    """The page was left: the conversation expires in a minute, unless the page is opened again before that."""
    lifetime.leave(row)
    return True


def stay(row: Conversation) -> bool:
    """The page is open, so the conversation stays. Does nothing for a conversation that is not temporary."""
    lifetime.stay(row)
    return True


def sign_out(person: User) -> None:
    """The person has signed out. Their pages can no longer report that they were left, so all count as left."""
    lifetime.leave_all(person)
