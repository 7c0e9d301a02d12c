"""Writes search indexes anew after an upgrade whose searches find other words of a text: in short transactions, the newest rows first.

What is done is stored with each step, so an interrupted run continues where it ended. Only rows that exist are changed, from the text as
people see it: what is not in the index does not come into it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chatui.database.connections import short_transaction
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPassage
from chatui.models.message import Message, Reindexing, SearchEntry
from chatui.store import passages, search_index, titles, transcripts
from renderer.gate import Audience, show

BATCH_ROWS = 50
BATCH_CHARS = 400_000
"""Text of one transaction; a single longer message is one, too."""


def is_due() -> bool:
    """Whether an index has rows of an earlier release. One statement."""
    return Reindexing.objects.filter(below__gt=0).exists()


def run() -> int:
    """Write every such row anew; returns their number. May take hours for millions; others write meanwhile."""
    done = 0
    for index, step in _STEPS.items():
        below = _reached(index)
        while below > 0:
            with short_transaction():
                count, below = step(below)
                Reindexing.objects.filter(index=index).update(below=below)
            done += count
    return done


def _reached(index: str) -> int:
    """How far the index has come: rows below this id are still to be read again. 0: none."""
    row = Reindexing.objects.filter(index=index).first()
    return row.below if row else 0


def _messages(below: int) -> tuple[int, int]:
    """One step: the number of rows, and below which id the next step begins; 0 after the last."""
    # Locked before the texts are read: whoever renames, hides or hands over does so before or after this step.
    entries = SearchEntry.objects.select_for_update().defer("terms").filter(pk__lt=below).order_by("-pk")
    rows = list(entries[:BATCH_ROWS])
    messages = Message.objects.select_related("conversation").in_bulk([row.message_id for row in rows if row.message_id])
    titled = Conversation.objects.in_bulk([row.conversation_id for row in rows if not row.message_id])
    chars = 0
    for number, row in enumerate(rows, 1):
        if row.message_id:
            message = messages[row.message_id]
            conversation, text = message.conversation, show(transcripts.frame_of(message), Audience.END_USER)
        else:
            conversation = titled[row.conversation_id]
            text = titles.title_text(conversation)
        SearchEntry.objects.filter(pk=row.pk).update(terms=search_index.terms_of(conversation, text))
        chars += len(text)
        if chars >= BATCH_CHARS:
            return number, row.pk
    return len(rows), rows[-1].pk if len(rows) == BATCH_ROWS else 0


def _passages(below: int) -> tuple[int, int]:
    rows = list(DocumentPassage.objects.defer("terms").filter(pk__lt=below).order_by("-pk")[:BATCH_ROWS])
    for row in rows:
        DocumentPassage.objects.filter(pk=row.pk).update(terms=passages.terms_of(row))
    return len(rows), rows[-1].pk if len(rows) == BATCH_ROWS else 0


_STEPS: Mapping[str, Callable[[int], tuple[int, int]]] = {"messages": _messages, "passages": _passages}
