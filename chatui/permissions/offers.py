"""Decides who may offer assistants, saved prompts and collections of theirs to groups, and what is offered to a person now.

An offer counts as long as its owner has the permission, and that is checked with each use.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from chatui.models.user import User
from chatui.permissions.access import is_staff_with

OFFER = "offer_assistants"
"""The permission for assistants and saved prompts."""
OFFER_COLLECTIONS = "offer_collections"


def may_offer(person: User | None, permission: str = OFFER) -> bool:
    """Whether this person may offer assistants and saved prompts of theirs to groups, or what else the ``permission`` is for."""
    return is_staff_with(person, f"chatui.{permission}")


def groups_to_offer(person: User, permission: str = OFFER) -> QuerySet[Group]:
    """The groups to which the person may offer what is theirs: all or none."""
    rows = Group.objects.order_by("name")
    return rows if may_offer(person, permission) else rows.none()


def offered_to(person: UUID, table: str, offers: str = "", key: str = "id", permission: str = OFFER) -> RawSQL:
    """The keys of a table's rows that are offered to the person's groups by owners for whom ``may_offer`` holds, or would if their account
    were open. ``offers``: the table that has the groups, where that is another, and its column ``key``."""
    statement = _OFFERED.format(table=table, offers=offers or table, key=key)
    return RawSQL(statement, [User._meta.pk.get_db_prep_value(person, connection), permission])  # noqa: S611 - all of it is ours


# In plain SQL, as each new conversation asks it.
_OFFERED = """SELECT offer.{key} FROM {offers} offer
    JOIN chatui_user_groups here ON here.group_id = offer.group_id
    JOIN {table} offered ON offered.id = offer.{key}
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
