"""The primary keys of the product's tables: UUIDv7, hard to guess in an address, and ordered by time for indexes."""

from __future__ import annotations

import uuid

from uuid_utils.compat import uuid7


def new_key() -> uuid.UUID:
    """A new UUIDv7 (RFC 9562, section 5.7)."""
    return uuid7()
