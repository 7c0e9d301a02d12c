"""Imports in progress: hidden in the bin, held by a lease, and erased if their process has died."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from chatui.models import Conversation, Message, User
from chatui.store import erasure, transcripts

LEASE = timedelta(seconds=60)


class ImportLostError(Exception):
    """The conversation was erased, or considered abandoned: nothing more may be written into it."""


class ImportedMeanwhileError(Exception):
    """Another upload of the same export was completed since this one began."""


def begin(conversation: Conversation) -> None:
    """Create the row of an import, hidden until ``complete``."""
    now = timezone.now()
    conversation.imported_at = conversation.deleted_at = now
    conversation.unfinished_until = now + LEASE
    conversation.save(force_insert=True)


def is_in_progress(person: User) -> bool:
    """Whether an import of this person is in progress."""
    return Conversation.objects.filter(owner=person, unfinished_until__gte=timezone.now()).exists()


def renew(conversation: Conversation) -> None:
    """Extend the lease. Raises ImportLostError if it has ended."""
    now = timezone.now()
    if not Conversation.objects.filter(pk=conversation.pk, unfinished_until__gte=now).update(unfinished_until=now + LEASE):
        raise ImportLostError


@transaction.atomic
def complete(conversation: Conversation, last: UUID) -> None:
    """The import is complete: show it to its owner, with the branch of its ``last`` message open.

    Raises:
        ImportLostError: see ``renew``.
        ImportedMeanwhileError: see there.
    """
    renew(conversation)
    conversation.deleted_at = conversation.unfinished_until = None
    try:
        conversation.save(update_fields=["deleted_at", "unfinished_until", "created_at", "active_at"])
    except IntegrityError as error:
        raise ImportedMeanwhileError from error
    transcripts.activate(conversation, conversation.owner, Message(pk=last))


def abandon(conversation: Conversation) -> None:
    """Erase the part that was written."""
    erasure.erase_conversation(conversation.pk)
