"""Uploaded files that are not sent yet: visible to their person only, in no conversation, and deleted after a day.

They wait at the message box where they were brought, and keep nobody from bringing others.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from chatui.models import StoredFile
from chatui.models.files.stored_file import FileSource
from chatui.store.files import storage

KEPT = timedelta(hours=24)
MOST = 50
"""Of one person. The oldest of more go."""
FORGOTTEN = timedelta(hours=1)
"""Who has left a file alone for so long may lose it to another one."""
_BATCH = 500
"""At once. A process could have died before it deleted any."""


def of_person(person_id: UUID) -> QuerySet[StoredFile]:
    """The files that wait."""
    return StoredFile.objects.filter(owner=person_id, conversation=None, turn=None, source=FileSource.PERSON)


def or_kept(person_id: UUID, kept: Collection[UUID]) -> QuerySet[StoredFile]:
    """The files that wait, and those of the person's that are named."""
    sent = StoredFile.objects.filter(owner=person_id, source=FileSource.PERSON, pk__in=kept)
    return of_person(person_id) | sent if kept else of_person(person_id)


def at(person_id: UUID, conversation_id: UUID | None) -> list[StoredFile]:
    """Those that wait at the message box of a conversation, or of a new one, in the order in which they came, with their contents."""
    return list(rows_at(person_id, conversation_id).select_related("content").order_by("created_at", "pk")[:MOST])


def rows_at(person_id: UUID, conversation_id: UUID | None) -> QuerySet[StoredFile]:
    """The same as rows, in no order."""
    return of_person(person_id).filter(brought_in=conversation_id, created_at__gte=timezone.now() - KEPT)


def trim(person_id: UUID) -> None:
    """Delete what has waited too long, and of more than ``MOST`` files the oldest."""
    rows = of_person(person_id)
    newest = rows.order_by("-created_at", "pk").values_list("pk", flat=True)
    _delete(person_id, rows.filter(created_at__lt=timezone.now() - KEPT))
    _delete(person_id, rows.filter(pk__in=list(newest[MOST : MOST + _BATCH])))


def forget(person_id: UUID) -> bool:
    """Delete those that have waited for an hour; whether there were any."""
    return _delete(person_id, of_person(person_id).filter(created_at__lt=timezone.now() - FORGOTTEN))


def _delete(person_id: UUID, files: QuerySet[StoredFile]) -> bool:
    if not files.exists():
        return False
    storage.delete_files(person_id, files)
    return True


def sweep() -> int:
    """Delete what has waited too long; how many files."""
    old = StoredFile.objects.filter(conversation=None, turn=None, created_at__lt=timezone.now() - KEPT)
    found = list(old.values_list("pk", "owner"))
    for key, owner in found:
        # One that has been sent since is not among them any more.
        storage.delete_files(owner, old.filter(pk=key))
    return len(found)
