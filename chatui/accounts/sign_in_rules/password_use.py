"""Decides who may sign in with a password: everybody, or only the operator's emergency accounts, so that others use single sign-on."""

from __future__ import annotations

from chatui.accounts.sign_in_rules.sign_in_file import EVERYBODY, sign_in_file
from chatui.models import User


def may_use(person: User) -> bool:
    """Whether this person may sign in with a password, and so may set one."""
    return is_for_everybody() or is_emergency(person.get_username())


def is_for_everybody() -> bool:
    """Whether everybody may sign in with a password."""
    return sign_in_file().passwords == EVERYBODY


def is_emergency(name: str) -> bool:
    """Whether this is the name of an emergency account, which no provider or directory may open, rename, link or create."""
    return name in sign_in_file().emergency_accounts
