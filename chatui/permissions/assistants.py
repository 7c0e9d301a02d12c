"""Decides who may use an assistant, who may read and change what it is, and who may offer theirs to groups.

Only its owner reads and changes one. Members of the groups to which it is offered may use it, as long as its owner may offer assistants:
that is checked with each use, also for an owner whose account is closed, until the heir has it. What may not be used looks like what does
not exist.
"""

from __future__ import annotations

from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import RawSQL

from chatui.models.assistants import Assistant, AssistantVersion
from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.permissions.access import existing, is_staff_with, key_of

OFFER = "offer_assistants"


def may_offer(person: User | None) -> bool:
    """Whether this person may offer assistants of theirs to groups."""
    return is_staff_with(person, f"chatui.{OFFER}")


def usable(person: User) -> QuerySet[AssistantVersion]:
    """The newest version of each assistant with which this person may begin a conversation: their own, and those offered to them."""
    return _newest().filter(_offered_to(person.pk))


def with_makers(rows: QuerySet[AssistantVersion]) -> QuerySet[AssistantVersion]:
    """The same, each with ``maker``: the name of its owner, of whose row no more is read."""
    return rows.annotate(maker=F("assistant__owner__username"))


def own(person: User, assistant_id: object, *, is_deleted: bool | None = False) -> AssistantVersion:
    """The newest version of the person's own assistant with that id. ``is_deleted``: of one that they deleted; None: of either. Raises
    NotFoundError if there is none."""
    mine = _newest().filter(assistant__owner=person)
    if is_deleted is not None:
        mine = mine.filter(assistant__deleted_at__isnull=not is_deleted)
    return existing(mine.filter(assistant=key_of(assistant_id)).first())


def own_all(person: User) -> QuerySet[AssistantVersion]:
    """The newest version of each assistant of the person's own."""
    return _newest().filter(assistant__owner=person, assistant__deleted_at=None)


def to_begin_with(person: User, assistant_id: object, *, locked: bool = False) -> AssistantVersion:
    """The newest version of an assistant, for a new conversation. ``locked``: it stays until the caller's transaction ends, which stores
    where it applies; a simultaneous change would remove it. Raises NotFoundError if the person may not use it."""
    if locked:
        rows = Assistant.objects.select_for_update(no_key=True).filter(pk__in=usable(person).values("assistant"))
        existing(rows.filter(pk=key_of(assistant_id)).first())
    return existing(with_makers(usable(person)).filter(assistant=key_of(assistant_id)).first())


def applying(conversation: Conversation) -> AssistantVersion | None:
    """The version that applies in a conversation: the one that it began with, as long as its owner may use the assistant."""
    versions = AssistantVersion.objects.select_related("assistant").filter(_offered_to(conversation.owner_id))
    return with_makers(versions).filter(conversations=conversation).first()


def _newest() -> QuerySet[AssistantVersion]:
    return AssistantVersion.objects.filter(number=F("assistant__newest")).select_related("assistant")


def _offered_to(person: UUID) -> Q:
    offered = RawSQL(_OFFERED, [User._meta.pk.get_db_prep_value(person, connection), OFFER])  # noqa: S611 - all of it is ours
    return Q(assistant__deleted_at=None) & (Q(assistant__owner=person) | Q(assistant__in=offered))


# In plain SQL, as each new conversation asks it. The owner: one for whom ``may_offer`` holds, or would if their account were open.
_OFFERED = """SELECT offer.assistant_id FROM chatui_assistant_groups offer
    JOIN chatui_user_groups here ON here.group_id = offer.group_id
    JOIN chatui_assistant offered ON offered.id = offer.assistant_id
    JOIN chatui_user maker ON maker.id = offered.owner_id
    WHERE here.user_id = %s AND maker.is_staff AND (maker.is_superuser OR EXISTS (
        SELECT 1 FROM auth_permission granted JOIN django_content_type kind ON kind.id = granted.content_type_id
        WHERE kind.app_label = 'chatui' AND granted.codename = %s AND (
            EXISTS (
                SELECT 1 FROM chatui_user_user_permissions own
                WHERE own.user_id = maker.id AND own.permission_id = granted.id)
            OR EXISTS (
                SELECT 1 FROM auth_group_permissions given JOIN chatui_user_groups membership ON membership.group_id = given.group_id
                WHERE membership.user_id = maker.id AND given.permission_id = granted.id))))"""
