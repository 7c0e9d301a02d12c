"""Decides who may use an assistant, and who may read and change what it is.

Only its owner reads and changes one. Members of the groups to which it is offered may use it, as long as its owner may offer it
(``permissions.offers``), also one whose account is closed, until the heir has it. What may not be used looks like what does not exist.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet

from chatui.models.assistants import Assistant, AssistantPicture, AssistantVersion
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions import offers
from chatui.permissions.access import existing, key_in, key_of


def usable(person: User) -> QuerySet[AssistantVersion]:
    """The newest version of each assistant with which this person may begin a conversation: their own, and those offered to them."""
    return _newest().filter(_offered_to(person.pk))


def with_makers(rows: QuerySet[AssistantVersion]) -> QuerySet[AssistantVersion]:
    """The same, each with ``maker``: the name of its owner, of whose row no more is read."""
    return rows.annotate(maker=F("assistant__owner__username"))


def own(person: User, assistant_id: object) -> AssistantVersion:
    """The newest version of the person's own assistant with that id. Raises NotFoundError if there is none, also if they deleted it."""
    return existing(own_all(person).filter(assistant=key_of(assistant_id)).first())


def own_deleted(person: User, assistant_id: object) -> AssistantVersion:
    """As ``own``, of those that they deleted."""
    return existing(_with_deleted(person).filter(assistant__deleted_at__isnull=False, assistant=key_of(assistant_id)).first())


def own_or_deleted(person: User, assistant_id: object) -> AssistantVersion:
    """As ``own``, whether they deleted it or not."""
    return existing(_with_deleted(person).filter(assistant=key_of(assistant_id)).first())


def own_all(person: User) -> QuerySet[AssistantVersion]:
    """The newest version of each assistant of the person's own."""
    return _with_deleted(person).filter(assistant__deleted_at=None)


def _with_deleted(person: User) -> QuerySet[AssistantVersion]:
    return _newest().filter(assistant__owner=person)


def to_begin_with(person: User, assistant_id: object, *, locked: bool = False) -> AssistantVersion:
    """The newest version of an assistant, for a new conversation. ``locked``: it stays until the caller's transaction ends, which stores
    where it applies; a simultaneous change would remove it. Raises NotFoundError if the person may not use it."""
    if locked:
        rows = Assistant.objects.select_for_update(no_key=True).filter(pk__in=usable(person).values("assistant"))
        existing(rows.filter(pk=key_of(assistant_id)).first())
    return existing(with_makers(usable(person)).filter(assistant=key_of(assistant_id)).first())


def applying(conversation: Conversation) -> AssistantVersion | None:
    """The version that applies in a conversation: the one that it began with, as long as its owner may use the assistant."""
    return with_makers(_applying(conversation.owner_id, conversation.pk).select_related("assistant")).first()


def _applying(person: UUID, conversation_id: UUID) -> QuerySet[AssistantVersion]:
    return AssistantVersion.objects.filter(_offered_to(person), conversations=conversation_id)


def picture(person: User, picture_id: object) -> bytes:
    """The PNG of a picture, for whom its assistant is shown to: in its newest version to those who may begin with it, in an older one to
    those who have a conversation in which that applies. Raises NotFoundError."""
    shown = AssistantVersion.objects.filter(_offered_to(person.pk), Q(number=F("assistant__newest")) | Q(conversations__owner=person))
    rows = AssistantPicture.objects.filter(pk=key_of(picture_id), versions__in=shown.values("pk"))
    return bytes(existing(rows.values_list("data", flat=True).first()))


def lent_in(person: User, conversation_id: UUID) -> QuerySet[Any, UUID]:
    """The keys of the collections that belong to the assistant of the person's conversation. Which of them they may ask,
    ``permissions.collections`` decides."""
    return _lent(_applying(person.pk, conversation_id))


def lent_by(person: User, assistant_id: object) -> QuerySet[Any, UUID]:
    """The keys of the collections that belong to the assistant, if a conversation begins with it now."""
    return _lent(usable(person).filter(assistant=key_in(assistant_id)))


def _lent(versions: QuerySet[AssistantVersion]) -> QuerySet[Any, UUID]:
    # Only while both have one owner: a collection that became somebody else's is not the maker's to put into an assistant.
    rows = AssistantVersion.collections.through.objects.filter(collection__owner=F("assistantversion__assistant__owner"))
    return rows.filter(assistantversion__in=versions.values("pk")).values_list("collection", flat=True)


def _newest() -> QuerySet[AssistantVersion]:
    return AssistantVersion.objects.filter(number=F("assistant__newest")).select_related("assistant")


def _offered_to(person: UUID) -> Q:
    offered = offers.offered_to(person, "chatui_assistant", "chatui_assistant_groups", "assistant_id")
    return Q(assistant__deleted_at=None) & (Q(assistant__owner=person) | Q(assistant__in=offered))
