"""An owner's actions on a conversation: rename, pin, archive, delete, restore, erase, mark as seen, switch branch."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chatui.audit_log.record import Visitor
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import erasure, search_index, titles, transcripts
from renderer.characters import is_seen

TITLE_CHARS = 120


PINNED, ARCHIVE = "pinned", "archive"
PLACES = ("list", PINNED, ARCHIVE)
"""The places where a person can put a conversation."""


def rename(person: User, conversation_id: object, title: str) -> Conversation:
    """Set a title that the owner wrote. One in which nothing can be seen changes nothing."""
    row = access.own_permanent(person, conversation_id)
    title = " ".join(title.replace("\x00", "").split())[:TITLE_CHARS]
    if is_seen(title):
        row.title, row.title_is_custom = title, True
        with transaction.atomic():
            row.save(update_fields=["title", "title_is_custom"])
            search_index.put_title(row, titles.title_text(row))
    return row


def put(person: User, conversation_id: object, place: str) -> Conversation:
    """Put a conversation into one of PLACES."""
    row = access.own_permanent(person, conversation_id)
    if place not in PLACES:
        raise access.NotFoundError
    row.is_pinned = place == PINNED
    row.archived_at = (row.archived_at or timezone.now()) if place == ARCHIVE else None
    row.save(update_fields=["is_pinned", "archived_at"])
    return row


def delete(person: User, conversation_id: object) -> Conversation:
    """Delete a conversation; it can be restored until it is purged. A running turn is stopped by its process within about a second, and
    what was shown is stored."""
    row = access.own_permanent(person, conversation_id)
    row.deleted_at = timezone.now()
    row.save(update_fields=["deleted_at"])
    return row


def restore(person: User, conversation_id: object) -> Conversation:
    row = access.own_conversation(person, conversation_id, deleted=True)
    row.deleted_at = None
    if row.import_key in access.own_import_keys(person):  # it was imported again meanwhile, and that import has the key now
        row.import_key = ""
    row.save(update_fields=["deleted_at", "import_key"])
    return row


def in_bin(person: User, conversation_id: object) -> Conversation:
    """A conversation that its person may erase: only one in the bin, so that a single click never erases anything for good."""
    return access.own_conversation(person, conversation_id, deleted=True)


def erase(person: User, conversation_id: object) -> None:
    """Erase a conversation in the bin for good, with everything that belongs to it."""
    erasure.erase_conversation(in_bin(person, conversation_id).pk, only_from_bin=True)


def see(person: User, conversation_id: object) -> bool:
    """Mark a conversation as seen by its person. Returns whether it had news."""
    row = access.own_conversation(person, conversation_id)
    had_news, row.has_news = row.has_news, False
    if had_news:
        row.save(update_fields=["has_news"])
    return had_news


def open_branch(visitor: Visitor, conversation_id: object, message_id: object) -> tuple[Conversation, UUID | None]:
    """Open the branch that a message is on. Also returns the key of the question that the message is, or belongs to, if there is one."""
    message = access.message_on_branch(visitor, conversation_id, message_id, action="open branch", asked=transcripts.question_at())
    row, person = message.conversation, access.person_of(visitor)
    transcripts.activate(row, person, transcripts.deepest(row, message))
    return row, message.asked  # type: ignore[attr-defined]


def open_at(visitor: Visitor, conversation_id: object, message_id: object) -> Conversation:
    """Open a branch that contains this visible message, unless the open branch does. A hidden message is treated as if it did not exist."""
    message = access.visible_message(visitor, conversation_id, message_id, action="link to message")
    row, person = message.conversation, access.person_of(visitor)
    leaf = transcripts.active_leaf(row, person)
    if leaf is None or message.pk not in transcripts.path(row.pk, leaf.pk):
        transcripts.activate(row, person, transcripts.deepest(row, message))
    return row
