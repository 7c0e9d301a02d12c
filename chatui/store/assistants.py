"""The rows of assistants: new versions, and removing those that nothing needs. Each function runs in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F

from chatui.models.assistants import Assistant, AssistantVersion
from chatui.models.collections import Collection
from chatui.models.user import User


def create(owner: User, values: Mapping[str, Any], collections: Set[UUID] = frozenset()) -> Assistant:
    """A new assistant. ``values``: the columns of its first version. ``collections``: the keys of its files, which are the owner's."""
    row = Assistant.objects.create(owner=owner)
    _version(row, values, collections)
    return row


def change(version: AssistantVersion, values: Mapping[str, Any], collections: Set[UUID] = frozenset()) -> bool:
    """Make a new version, if anything differs; returns whether it does. Conversations keep the one that they have; versions that none has
    are removed."""
    before = set(version.collections.values_list("pk", flat=True))
    if before == collections and all(getattr(version, name) == value for name, value in values.items()):
        return False
    row = Assistant.objects.select_for_update(no_key=True).get(pk=version.assistant_id)
    row.newest += 1
    _version(row, values, collections)
    row.save(update_fields=["newest"])
    row.versions.filter(conversations=None).exclude(number=row.newest).delete()
    return True


def _version(row: Assistant, values: Mapping[str, Any], collections: Set[UUID]) -> None:
    made = AssistantVersion.objects.create(assistant=row, number=row.newest, **values)
    if collections:
        made.collections.set(Collection.objects.filter(pk__in=collections))


def erase_expired(before: datetime) -> int:
    """Erase the assistants that were deleted before that time, and versions that no conversation has any more. Returns how many assistants.
    Conversations that began with one go on without it."""
    expired = Assistant.objects.filter(deleted_at__lt=before)
    count = expired.count()
    expired.delete()
    AssistantVersion.objects.filter(conversations=None).exclude(number=F("assistant__newest")).delete()
    return count
