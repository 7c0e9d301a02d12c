"""Uploaded files that are not sent yet: visible to their owner only, in no conversation, and deleted after a day.

They wait at the message box where they were uploaded, and never prevent other uploads.
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
MAX_PENDING = 50
"""Per person. If there are more, the oldest are deleted."""
FORGOTTEN = timedelta(hours=1)
"""After this long, a file may be deleted to make room for another one."""
_BATCH = 500
"""How many are deleted at once: there may be many if earlier processes died first."""


def of_person(person_id: UUID) -> QuerySet[StoredFile]:
    """The files that wait."""
    return StoredFile.objects.filter(owner=person_id, conversation=None, turn=None, source=FileSource.PERSON)


def or_sent(person_id: UUID, kept: Collection[UUID]) -> QuerySet[StoredFile]:
    """The files that wait, and the person's files in ``kept``."""
    sent = StoredFile.objects.filter(owner=person_id, source=FileSource.PERSON, pk__in=kept)
    return of_person(person_id) | sent if kept else of_person(person_id)


def at(person_id: UUID, conversation_id: UUID | None) -> list[StoredFile]:
    """The files that wait at the message box of a conversation, or of a new one, in order of upload, with their contents."""
    return list(rows_at(person_id, conversation_id).select_related("content").order_by("created_at", "pk")[:MAX_PENDING])


def rows_at(person_id: UUID, conversation_id: UUID | None) -> QuerySet[StoredFile]:
    """The same as rows, in no order."""
    return of_person(person_id).filter(brought_in=conversation_id, created_at__gte=timezone.now() - KEPT)


def trim(person_id: UUID) -> None:
    """Delete files that have waited too long, and the oldest if there are more than ``MAX_PENDING``."""
    rows = of_person(person_id)
    newest = rows.order_by("-created_at", "pk").values_list("pk", flat=True)
    _delete(person_id, rows.filter(created_at__lt=timezone.now() - KEPT))
    _delete(person_id, rows.filter(pk__in=list(newest[MAX_PENDING : MAX_PENDING + _BATCH])))


def forget(person_id: UUID) -> bool:
    """Delete files that have waited for an hour; returns whether there were any."""
    return _delete(person_id, of_person(person_id).filter(created_at__lt=timezone.now() - FORGOTTEN))


def _delete(person_id: UUID, files: QuerySet[StoredFile]) -> bool:
    if not files.exists():
        return False
    storage.delete_files(person_id, files)
    return True


def sweep() -> int:
    """Delete files that have waited too long; returns their number."""
    old = StoredFile.objects.filter(conversation=None, turn=None, created_at__lt=timezone.now() - KEPT)
    found = list(old.values_list("pk", "owner"))
    for key, owner in found:
        # Files that were sent meanwhile are no longer included.
        storage.delete_files(owner, old.filter(pk=key))
    return len(found)
