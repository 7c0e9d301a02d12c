"""The one-time code for the first account: printed on the console, stored as a hash, deleted once used."""

from __future__ import annotations

import hashlib
import secrets

from django.contrib.auth.models import Permission
from django.db import transaction

from chatui.models import FirstAccountCode, User
from chatui.permissions import catalogue

_ALPHABET = "ABCDEFGHJKMNPQRSTVWXYZ23456789"  # no letters or digits that look alike


def is_needed() -> bool:
    """Whether nobody has an account yet."""
    return not User.objects.exists()


def new_code() -> str | None:
    """A new code to print, such as ``7KQM-2XWP-…``; None if there is already an account."""
    if not is_needed():
        return None
    code = "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(5))
    FirstAccountCode.objects.create(digest=_digest(code))
    return code


def is_valid_code(code: str) -> bool:
    """Whether this code was printed by a server and is unused."""
    return FirstAccountCode.objects.filter(digest=_digest(code)).exists()


@transaction.atomic
def create(username: str, password: str) -> User | None:
    """Create the first account, as staff with every permission of the product, and delete all codes. None if another request was faster."""
    # Reading the codes locks them: of two people with a valid code, only one gets the account.
    taken = list(FirstAccountCode.objects.select_for_update())
    if not taken or not is_needed():
        return None
    FirstAccountCode.objects.all().delete()
    person: User = User.objects.create_user(username, password=password, is_staff=True)
    rows = Permission.objects.select_related("content_type")
    person.user_permissions.set([row for row in rows if f"{row.content_type.app_label}.{row.codename}" in catalogue.DESCRIPTIONS])
    return person


def _digest(code: str) -> str:
    plain = "".join(character for character in code.upper() if character.isalnum())
    return hashlib.sha256(plain.encode()).hexdigest()
