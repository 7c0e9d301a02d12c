"""Keeps a temporary conversation: gives it a title, and adds it to its person's list."""

from __future__ import annotations

from django.db import transaction

from chatui.models import Conversation, Turn
from chatui.models.turn import TurnState
from chatui.store import transcripts
from chatui.store.temporary import searching
from chatui.turns.start import first_title


def keep(row: Conversation) -> bool:
    """Make it an ordinary conversation. Returns False while an answer is being written in it, because search would not find that answer."""
    with transaction.atomic():
        # Locked, because otherwise it could be erased at the same moment.
        locked = Conversation.objects.select_for_update(no_key=True).filter(pk=row.pk, temporary_until__isnull=False, deleted_at=None)
        if locked.first() is None or Turn.objects.filter(conversation=row, state=TurnState.RUNNING).exists():
            return False
        first = Turn.objects.filter(conversation=row).select_related("question").order_by("started_at").first()
        row.title = first_title(transcripts.frame_of(first.question).body) if first else ""
        row.temporary_until = None
        row.save(update_fields=["title", "temporary_until"])
        searching.index_all(row)
    return True
