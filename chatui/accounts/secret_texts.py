"""Keys, codes and links that are shown once: how they are made, and what is stored of them, which is a digest or nothing."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from chatui.database import connections
from chatui.permissions.access import NotFoundError

ALPHABET = "abcdefghjkmnpqrstvwxyz23456789"
"""Letters and digits of which no two look alike."""

_Link = TypeVar("_Link", bound=Model)


def readable(chars: int, groups: int = 1) -> str:
    """A random text that people can type: ``groups`` of ``chars`` characters, with hyphens between them."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(chars)) for _ in range(groups))


def digest_of(text: str) -> str:
    """The stored form, SHA-256 in hexadecimal: these texts are long and random, so a fast digest protects them as well as a slow one."""
    return hashlib.sha256(text.encode()).hexdigest()


def link_token(purpose: str, *values: object) -> str:
    """The token at the end of a link's address. It is not stored: it follows from what it is for, and ends with any change of that."""
    return salted_hmac(f"chatui.{purpose}", " ".join(map(str, values)), algorithm="sha256").hexdigest()[:48]


def unused_link(rows: QuerySet[_Link], key: UUID | str, token: str, token_of: Callable[[_Link], str]) -> _Link:
    """The row of a one-time link. Raises NotFoundError if it was used, has expired by the database's clock, or never existed; all look the
    same."""
    row = rows.filter(pk=key, used_at=None, expires_at__gt=connections.now()).first()
    if row is None or not constant_time_compare(token_of(row), token):
        raise NotFoundError
    return row


def note_use(row: Any) -> None:
    """Store on which day (UTC) a key or token was last used: one write a day."""
    today = timezone.now().date()
    if row.last_used_on != today:
        type(row).objects.filter(pk=row.pk).update(last_used_on=today)
