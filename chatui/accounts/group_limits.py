"""Which of the groups that have a limit of answers a person is in, read together with the person's row."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Exists, OuterRef

from chatui.env import environment
from chatui.models import User

_PREFIX = "is_in_limited_group_"


def columns() -> Mapping[str, Exists]:
    """To be read with a person's row: one for each group that has a limit, so that this costs no statement of its own."""
    members = User.groups.through.objects.filter(user=OuterRef("pk"))
    return {f"{_PREFIX}{number}": Exists(members.filter(group__name=name)) for number, name in enumerate(_names())}


def groups_of(person: User) -> frozenset[str]:
    """The person's groups that have a limit. One statement where the row was read without ``columns``, and some group has a limit."""
    names = _names()
    if names and f"{_PREFIX}0" not in vars(person):
        return frozenset(person.groups.filter(name__in=names).values_list("name", flat=True))
    return frozenset(name for number, name in enumerate(names) if vars(person)[f"{_PREFIX}{number}"])


def _names() -> tuple[str, ...]:
    return tuple(environment().group_answers_at_once)
