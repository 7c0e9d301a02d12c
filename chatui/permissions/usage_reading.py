"""Decides who may see everybody's usage."""

from __future__ import annotations

from chatui.models import User
from chatui.permissions.access import NotFoundError


def can_read_usage(user: User | None) -> bool:
    """Whether this person may see everybody's usage. It is a separate permission: staff status does not include it."""
    return user is not None and user.is_active and user.is_staff and user.has_perm("chatui.view_usage")


def usage_reader(user: User | None) -> User:
    """This person, if they may see everybody's usage. Raises NotFoundError for everybody else: the page shows everybody's names."""
    if user is None or not can_read_usage(user):
        raise NotFoundError
    return user
