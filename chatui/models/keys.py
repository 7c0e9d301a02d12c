"""The primary keys of the product's tables: UUIDv7, hard to guess in a URL, and ordered by time for indexes; and the base of tables."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from django.db import models
from uuid_utils.compat import uuid7


def new_key() -> uuid.UUID:
    """A new UUIDv7 (RFC 9562, section 5.7)."""
    return uuid7()


def first_key_at(moment: datetime) -> uuid.UUID:
    """A lower bound of all keys created since then: newer rows are found by primary key, without an index on time."""
    return uuid.UUID(int=max(int(moment.timestamp() * 1000), 0) << 80)


def moment_of(key: uuid.UUID) -> datetime | None:
    """When a key was created, to the millisecond; None for a key that is no UUIDv7."""
    return datetime.fromtimestamp((key.int >> 80) / 1000, UTC) if key.version == 7 else None


class Row(models.Model):
    """A row with such a key, which is all that it shows of itself. Django's permissions for its table have no effect here."""

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)

    class Meta:
        abstract = True
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self._meta.object_name} {self.pk}"
