"""Stores a conversation's generated title. Runs in the writer's transaction."""

from __future__ import annotations

from chatui.models import Conversation
from chatui.store import search_index, transcripts


def keep(row: Conversation, title: str) -> bool:
    """Store the title, unless the conversation was renamed or deleted since ``row`` was read. Returns whether it is stored.

    Takes two statements; the second makes the title searchable, like one that the owner wrote. Safe to run twice.
    """
    unchanged = Conversation.objects.filter(pk=row.pk, title__in=[row.title, title], title_is_custom=False, deleted_at=None)
    if not unchanged.update(title=title):
        return False
    search_index.put_first_title(row, transcripts.own_words(title))
    return True
