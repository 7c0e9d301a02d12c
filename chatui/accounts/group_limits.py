"""Finds the person's groups that limit simultaneous answers, in the query that loads the person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Exists, OuterRef

from chatui.env import environment
from chatui.models import User

_PREFIX = "is_in_limited_group_"


def columns(names: Sequence[str]) -> Mapping[str, Exists]:
    """Columns to read with a person's row, one for each of ``names``, so that no extra statement is needed."""
    members = User.groups.through.objects.filter(user=OuterRef("pk"))
    return {f"{_PREFIX}{number}": Exists(members.filter(group__name=name)) for number, name in enumerate(names)}


def groups_of(person: User) -> frozenset[str]:
    """The person's groups that have a limit. One statement if the row was read without ``columns`` and any group has a limit."""
    known = names()
    if known and f"{_PREFIX}0" not in vars(person):
        return frozenset(person.groups.filter(name__in=known).values_list("name", flat=True))
    return frozenset(name for number, name in enumerate(known) if vars(person)[f"{_PREFIX}{number}"])


def names() -> tuple[str, ...]:
    """The groups that have a limit."""
    return tuple(environment().group_answers_at_once)
