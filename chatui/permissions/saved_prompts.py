"""Decides which saved prompts a person may use and change, and to which groups they may offer theirs.

A group is offered prompts by who may change it. What may be used and what may not exist look the same.
"""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db.models import Q, QuerySet

from chatui.models.saved_prompts import SavedPrompt
from chatui.models.user import User
from chatui.permissions import administration
from chatui.permissions.access import existing, key_of


def usable(person: User) -> QuerySet[SavedPrompt]:
    """Those of the person's own, and those offered to their groups by people whose accounts are open."""
    offered = Q(group__in=person.groups.all(), owner__is_active=True)
    return SavedPrompt.objects.filter(Q(owner=person) | offered, deleted_at=None)


def to_use(person: User, prompt_id: object) -> SavedPrompt:
    """Raises NotFoundError if the person may not use it."""
    return existing(usable(person).filter(pk=key_of(prompt_id)).first())


def own_all(person: User) -> QuerySet[SavedPrompt]:
    return SavedPrompt.objects.filter(owner=person, deleted_at=None)


def own(person: User, prompt_id: object, *, is_deleted: bool = False) -> SavedPrompt:
    """The person's own prompt with that id, or one that they deleted. Raises NotFoundError if there is none."""
    mine = SavedPrompt.objects.filter(owner=person, deleted_at__isnull=not is_deleted).select_related("group")
    return existing(mine.filter(pk=key_of(prompt_id)).first())


def groups_to_offer(person: User) -> QuerySet[Group]:
    """The groups to which the person may offer prompts: those that they may change."""
    return administration.changeable_groups(person)
