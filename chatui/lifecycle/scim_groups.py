"""Stores a directory's groups and their members, and makes these people members of the product's groups.

Only the operator's table maps groups of a directory to groups of the product. Members are added and removed after every change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from chatui.accounts import account_managers, provider_groups
from chatui.accounts.sign_in_settings import Provider
from chatui.audit_log.record import Visitor, record
from chatui.lifecycle import scim_patches
from chatui.lifecycle.scim_patches import PatchOperation, uuids
from chatui.lifecycle.scim_resources import GROUP, NoSuchResourceError, ResourceExistsError, ScimError
from chatui.lifecycle.scim_tokens import all_or_nothing, changeable_accounts
from chatui.models.provisioning import ProvisionedAccount, ProvisionedGroup
from chatui.models.user import User
from chatui.wire import bus
from chatui.wire.bus import send_from_thread


def values_of(account: ProvisionedAccount) -> frozenset[str]:
    """The names and directory ids of a person's groups. The operator's table may use either."""
    return frozenset(word for group in account.groups.all() for word in (group.name, group.external_id) if word)


def sync_members(visitor: Visitor, provider: Provider, keys: Collection[UUID]) -> None:
    """Add and remove our groups according to the directory groups of these accounts.

    Call it in the transaction that changed them. Raises LastAccountManagerError.
    """
    rows = changeable_accounts(provider).filter(pk__in=keys)
    # Memberships are read only after locking, so that the second of two changes for one person sees the first.
    account_managers.lock(list(rows.values_list("user_id", flat=True)))
    for account in rows.prefetch_related("groups"):
        _sync(visitor, provider, account.user, values_of(account))


def remove_from_all(visitor: Visitor, provider: Provider, user: User) -> None:
    """Remove an account from all groups that a directory has put it into. Raises LastAccountManagerError."""
    _sync(visitor, provider, user, frozenset())


def _sync(visitor: Visitor, provider: Provider, user: User, values: frozenset[str]) -> None:
    if provider_groups.set_groups(visitor, user, provider, values):
        transaction.on_commit(partial(send_from_thread, bus.person(user.pk), {"type": "session.check"}))


SCHEMA = GROUP
NEEDED = ""
"""The attribute that a whole resource must have; nothing is checked of a group, because its name can stay as it is."""
MAX_GROUPS = 5000
"""The most groups of one provider. More would be a mistake of the directory, and each takes a row."""


def search(provider: Provider, filter_text: str) -> QuerySet[ProvisionedGroup]:
    """The groups that match a filter; all if it is empty. Raises ScimError for an unsupported filter."""
    conditions: dict[str, Callable[[str], Q]] = {
        "displayName": lambda name: Q(pk__in=_named(provider, name)),
        "externalId": lambda key: Q(external_id=key),
        "id": lambda key: Q(pk__in=uuids([key])),
        "members": lambda key: Q(members__in=uuids([key])),
    }
    return scim_patches.filtered(ProvisionedGroup.objects.filter(issuer=provider.issuer).order_by("id"), filter_text, conditions)


def _named(provider: Provider, name: str) -> list[UUID]:
    """The groups with that name, in whatever case: there is more than one only from before this was a rule."""
    rows = ProvisionedGroup.objects.filter(issuer=provider.issuer).values_list("pk", "name")
    return [key for key, each in rows if each.casefold() == name.strip().casefold()]


def get(provider: Provider, key: str) -> ProvisionedGroup:
    """The group with that id. Raises NoSuchResourceError."""
    row = search(provider, "").filter(pk__in=uuids([key])).first()
    if row is None:
        raise NoSuchResourceError
    return row


def members_of(provider: Provider, row: ProvisionedGroup) -> QuerySet[ProvisionedAccount]:
    """The members that the directory may see."""
    return changeable_accounts(provider).filter(groups=row)


def create(visitor: Visitor, provider: Provider, body: Mapping[str, Any]) -> ProvisionedGroup:
    """Create a group with its members. Recorded. Raises ResourceExistsError and ScimError."""
    changes = scim_patches.of_resource(body)
    if ProvisionedGroup.objects.filter(issuer=provider.issuer).count() >= MAX_GROUPS:
        raise ScimError("There are too many groups.", "tooMany")
    with all_or_nothing(visitor, provider):
        name = next((change.value for change in changes if change.attribute == "displayname"), None)
        if _named(provider, _text(name)):
            raise ResourceExistsError
        row = ProvisionedGroup.objects.create(issuer=provider.issuer, name=_text(name))
        _apply(visitor, provider, row, changes)
        record("directory group", visitor, detail=f"made: {row.name}, by {provider.key}"[:200])
    return row


def change(visitor: Visitor, provider: Provider, key: str, changes: Iterable[PatchOperation]) -> ProvisionedGroup:
    """Apply all changes of a PATCH, or of a whole resource (PUT), or none. Without ``members``, the members are not changed. Recorded.

    Raises NoSuchResourceError, ResourceExistsError, ForbiddenAccountError and ScimError.
    """
    with all_or_nothing(visitor, provider):
        row = get(provider, key)
        _apply(visitor, provider, row, changes)
    return row


def delete(visitor: Visitor, provider: Provider, key: str) -> None:
    """Delete a group; its members lose the groups mapped to it. Recorded. Raises NoSuchResourceError and ForbiddenAccountError."""
    with all_or_nothing(visitor, provider):
        row = get(provider, key)
        members = set(row.members.values_list("pk", flat=True))
        detail = f"deleted: {row.name}, by {provider.key}"[:200]
        row.delete()
        sync_members(visitor, provider, members)
        record("directory group", visitor, detail=detail)


def _apply(visitor: Visitor, provider: Provider, row: ProvisionedGroup, changes: Iterable[PatchOperation]) -> None:
    ProvisionedGroup.objects.select_for_update().get(pk=row.pk)
    before = set(row.members.values_list("pk", flat=True))
    named = {key for change in changes for key in _apply_change(provider, row, change)}
    after = set(row.members.values_list("pk", flat=True))
    is_renamed = ProvisionedGroup.objects.exclude(name=row.name, external_id=row.external_id).filter(pk=row.pk).exists()
    row.save()
    # A new name may map to other groups of the product, which affects all members. Those who are named again are synchronized again: the
    # operator's table, or what the provider said at a sign-in, may have changed since.
    sync_members(visitor, provider, before | after if is_renamed else (before ^ after) | named)


def _apply_change(provider: Provider, row: ProvisionedGroup, change: PatchOperation) -> set[UUID]:
    """Apply one change. Returns the members that it names, whether or not they are new."""
    if change.attribute == "members":
        return _change_members(provider, row, change)
    if change.kind == "remove":
        raise ScimError("Only members can be removed from a group.", "mutability")
    if change.attribute == "displayname":
        row.name = _text(change.value)
        if set(_named(provider, row.name)) - {row.pk}:
            raise ResourceExistsError
    elif change.attribute == "externalid":
        row.external_id = _text(change.value)
    return set()


def _change_members(provider: Provider, row: ProvisionedGroup, change: PatchOperation) -> set[UUID]:
    if change.selector is not None:
        if change.kind != "remove" or change.selector[0] != "value":
            raise ScimError('A filter of members must look like members[value eq "id"], and can only remove them.', "invalidPath")
        row.members.remove(*row.members.filter(pk__in=uuids([change.selector[1]])))
        return set()
    if change.kind == "remove":
        removed = row.members.all() if change.value is None else row.members.filter(pk__in=uuids(scim_patches.member_ids(change.value)))
        row.members.remove(*removed)
        return set()
    # Ids of accounts that the directory may not change are ignored, like ids that do not exist.
    members = changeable_accounts(provider).filter(pk__in=uuids(scim_patches.member_ids(change.value)))
    row.members.set(members) if change.kind == "replace" else row.members.add(*members)
    return {each.pk for each in members}


def _text(value: object) -> str:
    if not (text := scim_patches.one_line(value, 255)):
        raise ScimError("displayName and externalId must not be empty.", "invalidValue")
    return text
