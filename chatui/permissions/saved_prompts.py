"""Decides which saved prompts a person may use and change.

Members of the group to which one is offered may use it, as long as its owner may offer it (``permissions.offers``) and has an open account:
prompts have no heir. What may not be used looks like what does not exist.
"""

from __future__ import annotations

from django.db.models import F, Q, QuerySet

from chatui.models.saved_prompts import SavedPrompt
from chatui.models.user import User
from chatui.permissions import offers
from chatui.permissions.access import existing, key_of


def usable(person: User) -> QuerySet[SavedPrompt]:
    """The saved prompts that the person may use: their own, and those offered to them."""
    offered = Q(pk__in=offers.offered_to(person.pk, "chatui_savedprompt"), owner__is_active=True)
    return SavedPrompt.objects.filter(Q(owner=person) | offered, deleted_at=None)


def with_makers(rows: QuerySet[SavedPrompt]) -> QuerySet[SavedPrompt]:
    """The same, each with ``maker``: the name of its owner, of whose row no more is read."""
    return rows.annotate(maker=F("owner__username"))


def to_use(person: User, prompt_id: object) -> SavedPrompt:
    """Raises NotFoundError if the person may not use it."""
    return existing(usable(person).filter(pk=key_of(prompt_id)).first())


def own_all(person: User) -> QuerySet[SavedPrompt]:
    return SavedPrompt.objects.filter(owner=person, deleted_at=None)


def own(person: User, prompt_id: object) -> SavedPrompt:
    """The person's own prompt with that id. Raises NotFoundError if there is none, also if they deleted it."""
    return existing(own_all(person).select_related("group").filter(pk=key_of(prompt_id)).first())


def own_deleted(person: User, prompt_id: object) -> SavedPrompt:
    """As ``own``, of those that they deleted."""
    mine = SavedPrompt.objects.filter(owner=person, deleted_at__isnull=False).select_related("group")
    return existing(mine.filter(pk=key_of(prompt_id)).first())
