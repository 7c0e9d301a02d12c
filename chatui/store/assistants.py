"""The rows of assistants: new versions, and removing those that nothing needs. Each function runs in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F

from chatui.database.faults import Refused
from chatui.models.assistants import Assistant, AssistantPicture, AssistantVersion
from chatui.models.collections import Collection
from chatui.models.user import User


def create(owner: User, values: Mapping[str, Any], collections: Set[UUID] = frozenset(), picture: bytes = b"") -> Assistant:
    """A new assistant. ``values``: the columns of its first version. ``collections``: the keys of its files, which are the owner's.
    ``picture``: a PNG that ``chatui.pictures`` wrote; empty for none."""
    row = Assistant.objects.create(owner=owner)
    _version(row, values, collections, _new_picture(row, picture))
    return row


def change(
    version: AssistantVersion, values: Mapping[str, Any], collections: Set[UUID] = frozenset(), picture: bytes | None = None
) -> bool:
    """Make a new version, if anything differs; returns whether it does. Conversations keep the one that they have; versions that none has
    are removed. ``picture``: as for ``create``; None: as before."""
    before = set(version.collections.values_list("pk", flat=True))
    is_same_picture = picture is None or picture == _bytes_of(version.picture)
    if before == collections and is_same_picture and all(getattr(version, name) == value for name, value in values.items()):
        return False
    row = Assistant.objects.select_for_update(no_key=True).get(pk=version.assistant_id)
    # Read behind the lock: a simultaneous change removes the picture that no version has any more.
    kept = row.versions.filter(number=row.newest).values_list("picture", flat=True).get() if picture is None else None
    row.newest += 1
    _version(row, values, collections, kept if picture is None else _new_picture(row, picture))
    row.save(update_fields=["newest"])
    row.versions.filter(conversations=None).exclude(number=row.newest).delete()
    row.pictures.filter(versions=None).delete()
    return True


def _version(row: Assistant, values: Mapping[str, Any], collections: Set[UUID], picture: UUID | None) -> None:
    made = AssistantVersion.objects.create(assistant=row, number=row.newest, picture_id=picture, **values)
    if collections:
        made.collections.set(Collection.objects.filter(pk__in=collections))


def _new_picture(row: Assistant, data: bytes) -> UUID | None:
    return AssistantPicture.objects.create(assistant=row, data=data).pk if data else None


def _bytes_of(picture: AssistantPicture | None) -> bytes:
    return bytes(picture.data) if picture else b""


def erase_expired(before: datetime, refused: Refused) -> None:
    """Erase the assistants that were deleted before that time, and versions that no conversation has any more. Conversations that began
    with one go on without it. One that cannot be erased does not stop the others."""
    expired = Assistant.objects.filter(deleted_at__lt=before)
    for key in list(expired.values_list("pk", flat=True)):
        with refused.one(f"assistant {key}"):
            expired.filter(pk=key).delete()
    with refused.one("versions of assistants"):
        AssistantVersion.objects.filter(conversations=None).exclude(number=F("assistant__newest")).delete()
    with refused.one("pictures of assistants"):
        AssistantPicture.objects.filter(versions=None).delete()
