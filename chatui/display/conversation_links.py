"""Prepares a conversation's title and state, without messages, for its own page and for the list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from django.urls import get_script_prefix, reverse
from django.utils.translation import gettext

from chatui.models import Conversation


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """A conversation's own data on a page.

    ``is_imported``: it was uploaded rather than written here, whatever its title is now. ``imported_from``: the product that exported it,
    if any. ``at``: the time of its last activity.
    """

    id: str
    title: str
    url: str
    effort: str
    is_imported: bool = False
    imported_from: str = ""
    at: datetime | None = None
    has_news: bool = False
    is_pinned: bool = False
    is_archived: bool = False
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class ConversationLink:
    """One conversation in the sidebar's list. ``is_running``: an answer is being written in it; ``has_news``: one ended unseen."""

    id: str
    title: str
    updated_at: datetime
    url: str
    is_current: bool = False
    is_imported: bool = False
    is_running: bool = False
    has_news: bool = False
    is_pinned: bool = False


_ANY_KEY = UUID(int=0)


def conversation_url(key: UUID) -> str:
    """The path of a conversation's page, as ``reverse`` returns it, which would search all patterns for each question."""
    return _around_key(get_script_prefix()).replace(str(_ANY_KEY), str(key))


@lru_cache(maxsize=8)
def _around_key(_prefix: str) -> str:
    """The path of the conversation ``_ANY_KEY``, under the prefix of this thread, which is a part of it."""
    return reverse("conversation", args=[_ANY_KEY])


def shown_conversation(row: Conversation) -> ShownConversation:
    """A conversation's own data for its page."""
    url = conversation_url(row.pk)
    return ShownConversation(
        str(row.pk),
        row.title if row.temporary_until is None else gettext("Temporary chat"),
        url,
        row.effort,
        is_imported=row.imported_at is not None,
        imported_from=row.get_imported_from_display(),
        at=row.active_at,
        has_news=row.has_news,
        is_pinned=row.is_pinned,
        is_archived=row.archived_at is not None,
        is_temporary=row.temporary_until is not None,
    )


def conversation_link(row: Conversation, current: UUID | None = None) -> ConversationLink:
    """A conversation as a line of the sidebar."""
    url = conversation_url(row.pk)
    return ConversationLink(
        str(row.pk),
        row.title,
        row.active_at,
        url,
        is_current=row.pk == current,
        is_imported=row.imported_at is not None,
        is_running=vars(row).get("is_running", False),
        has_news=row.has_news,
        is_pinned=row.is_pinned,
    )
