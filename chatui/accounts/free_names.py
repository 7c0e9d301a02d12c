"""Finds a free account name for a new account."""

from __future__ import annotations

import re
import unicodedata

from django.core.exceptions import ValidationError

from chatui.accounts import sign_in_settings
from chatui.models.keys import new_key
from chatui.models.user import User, check_lookalikes

_NOT_OURS = re.compile(r"[^\w.@+-]+")
_TRIES = 100


def free_name(wanted: str, account: User | None = None) -> str:
    """``wanted`` as an account name, with a number appended if another account's name looks alike.

    ``account``: an account that may keep its own name. Names of emergency accounts are never chosen.
    """
    plain = _NOT_OURS.sub(".", unicodedata.normalize("NFKC", wanted)).strip(".")[:130] or "person"
    for number in range(1, _TRIES):
        name = plain if number == 1 else f"{plain}-{number}"
        if not sign_in_settings.is_emergency(name) and _is_free(name, account):
            return name
    return f"person-{new_key().hex}"


def _is_free(name: str, account: User | None) -> bool:
    try:
        User._meta.get_field("username").run_validators(name)
        check_lookalikes(name, account)
    except ValidationError:
        return False
    return True
