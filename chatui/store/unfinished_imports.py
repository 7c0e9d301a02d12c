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
    """The conversation is gone, or was taken for abandoned: nothing more may be written into it."""


class ImportedMeanwhileError(Exception):
    """Another upload of the same export has become a conversation of its person's since this one began."""


def begin(conversation: Conversation) -> None:
    """Make the row of an import, unseen until ``complete``."""
    now = timezone.now()
    conversation.imported_at = conversation.deleted_at = now
    conversation.unfinished_until = now + LEASE
    conversation.save(force_insert=True)


def is_going_on(person: User) -> bool:
    """Whether an import of this person's is being written just now."""
    return Conversation.objects.filter(owner=person, unfinished_until__gte=timezone.now()).exists()


def renew(conversation: Conversation) -> None:
    """Hold the lease for another while. Raises ImportLostError where there is none any more."""
    now = timezone.now()
    if not Conversation.objects.filter(pk=conversation.pk, unfinished_until__gte=now).update(unfinished_until=now + LEASE):
        raise ImportLostError


@transaction.atomic
def complete(conversation: Conversation, last: UUID) -> None:
    """All of it is there: from now on its owner sees it, open at its ``last`` message.

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


def give_up(conversation: Conversation) -> None:
    """Erase what was written of it."""
    erasure.erase_conversation(conversation.pk)
