"""Decides which stored answers a program may read: those to its owner, in conversations that are not deleted."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F

from chatui.models import ProgramAnswer, User
from chatui.permissions.access import NotFoundError


def answer_of(person: User, answer_id: UUID, only_key: UUID | None) -> ProgramAnswer:
    """The answer with its turn, question and conversation.

    ``only_key``: the API key that must have requested it; None for any of the person's keys.

    Raises:
        NotFoundError: the answer is not stored, was deleted, or is somebody else's. All look the same.
    """
    rows = ProgramAnswer.objects.filter(pk=answer_id, is_kept=True, turn__asked_by=person, turn__conversation__owner=F("turn__asked_by"))
    rows = rows.filter(turn__conversation__deleted_at=None, turn__asked_by__is_active=True)
    if only_key is not None:
        rows = rows.filter(key=only_key)
    found = rows.select_related("turn__conversation", "turn__question").defer("turn__request").first()
    if found is None:
        raise NotFoundError
    return found
