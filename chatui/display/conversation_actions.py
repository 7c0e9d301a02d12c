"""What an owner does to a conversation besides writing in it: rename, delete, restore, open another branch."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from chatui.models import Conversation, User
from chatui.permissions import access
from chatui.store import search_index, transcripts

TITLE_CHARS = 120


def rename(person: User, conversation_id: object, title: str) -> Conversation:
    """Give it a title of the owner's own; an empty one changes nothing."""
    row = access.own_conversation(person, conversation_id)
    title = " ".join(title.replace("\x00", "").split())[:TITLE_CHARS]
    if title:
        row.title, row.title_is_custom = title, True
        with transaction.atomic():
            row.save(update_fields=["title", "title_is_custom"])
            search_index.put_title(row, transcripts.title_text(row))
    return row


def delete(person: User, conversation_id: object) -> Conversation:
    """Put it into the bin. A turn that still runs in it loses its right to write, and so ends."""
    row = access.own_conversation(person, conversation_id)
    row.deleted_at = timezone.now()
    row.save(update_fields=["deleted_at"])
    return row


def restore(person: User, conversation_id: object) -> Conversation:
    """Take it out of the bin again."""
    row = access.own_conversation(person, conversation_id, deleted=True)
    row.deleted_at = None
    row.save(update_fields=["deleted_at"])
    return row


def open_branch(person: User, conversation_id: object, message_id: object) -> Conversation:
    """Make the branch that a message is on the open one."""
    row = access.own_conversation(person, conversation_id)
    message = access.message_of(row, message_id)
    transcripts.activate(row, person, transcripts.deepest(row, message))
    return row


def open_at(person: User, conversation_id: object, message_id: object) -> Conversation:
    """Open a branch that a visible message is on, unless the open one is. A hidden message is as good as none."""
    row = access.own_conversation(person, conversation_id)
    message = access.message_of(row, message_id)
    if not message.is_visible:
        raise access.NotFoundError
    if not transcripts.is_on_branch(row, transcripts.active_leaf(row, person), message):
        transcripts.activate(row, person, transcripts.deepest(row, message))
    return row
