"""Tracks whether the page of a temporary conversation is still open."""

from __future__ import annotations

from chatui.models import Conversation, User
from chatui.store.temporary import lifetime


def leave(row: Conversation) -> bool:
    """Its page was left: it is gone in a minute, unless somebody is back by then."""
    lifetime.leave(row)
    return True


def stay(row: Conversation) -> bool:
    """Its page is there. Nothing for a conversation that is not temporary."""
    lifetime.stay(row)
    return True


def sign_out(person: User) -> None:
    """The person has signed out, so that their pages cannot say any more that they were left."""
    lifetime.leave_all(person)
