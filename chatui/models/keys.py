"""The primary key of every table of ours: a UUIDv7, unguessable enough for addresses and ordered by time for indexes."""

from __future__ import annotations

import uuid

from uuid_utils.compat import uuid7


def new_key() -> uuid.UUID:
    """A fresh UUIDv7 (RFC 9562, section 5.7)."""
    return uuid7()
