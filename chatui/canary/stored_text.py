"""Checks the stored text of a run where only visible words are allowed: the search index, titles, answers, the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from chatui.canary.watch import Watch
from chatui.models import AuditEvent, SearchEntry, ShareLink, User

PLACE = "database"
_OF_A_MESSAGE = ("text", "role", "channel", "intent", "recipient", "name", "call_id", "error_code")
_OF_A_LINE = ("code", "action", "way", "actor_name", "owner_name", "address", "detail")


def look_at_rows(watch: Watch, owner: User) -> None:
    """Check every column of the owner's rows that people see, or that is derived from visible text."""
    for table, rows, columns in _rows(owner):
        watch.looked[f"rows of {table}"] += rows.count()
        for values in rows.values_list(*columns):
            for column, value in zip(columns, values, strict=True):
                watch.look("owner", PLACE, f"{table}.{column}", str(value))


def _rows(owner: User) -> Iterator[tuple[str, QuerySet[Any], tuple[str, ...]]]:
    conversations = owner.conversations.all()
    yield "Conversation", conversations, ("title", "model", "choice", "sampled_with", "answer_format")
    yield "SearchEntry", SearchEntry.objects.filter(conversation__in=conversations), ("terms",)
    yield "ShareLink", ShareLink.objects.filter(conversation__in=conversations), ("title", "shown_name")
    yield "AuditEvent", AuditEvent.objects.filter(actor=owner), _OF_A_LINE
    for row in conversations:
        yield "Message", row.messages.filter(is_visible=True), _OF_A_MESSAGE
        yield "Turn", row.turns.all(), ("choice", "backend", "model", "error_code", "error_cause")
        yield "AuditEvent", AuditEvent.objects.filter(conversation_id=row.pk), _OF_A_LINE
