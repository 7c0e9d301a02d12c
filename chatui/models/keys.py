"""What all of the product's tables have, and their primary keys: UUIDv7, hard to guess in a URL, and ordered by time for indexes."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from operator import attrgetter

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


class Keyed(models.Model):
    """A table with a UUIDv7 as its key. A turn asks its rows for ``pk`` dozens of times, and Django's own way there takes two calls."""

    id = models.UUIDField(primary_key=True, default=new_key, editable=False)
    pk = property(attrgetter("id"), lambda row, key: setattr(row, "id", key))

    class Meta:
        abstract = True


class Table(models.Model):
    """A table without Django's four permissions. The repr of a row has its key, and nothing of its content."""

    class Meta:
        abstract = True
        default_permissions = ()


class Row(Keyed, Table):
    """The same with such a key."""

    class Meta(Table.Meta):
        abstract = True
