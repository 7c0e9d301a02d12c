"""Adds members of a directory's groups to the product's groups, by the operator's table, and removes them, after every change."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from uuid import UUID

from django.db import transaction

from chatui.accounts.sign_in_rules import account_managers
from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.single_sign_on import group_sync
from chatui.accounts.single_sign_on.claims import PersonClaims
from chatui.audit_log.record import Visitor
from chatui.delivery import groups as message_groups
from chatui.delivery.bus import send_from_thread
from chatui.models import ProvisionedAccount, User
from chatui.provisioning.scope import changeable_accounts


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
    if group_sync.sync_groups(visitor, user, provider, PersonClaims(str(user.pk), "", "", values)):
        transaction.on_commit(partial(send_from_thread, message_groups.person(user.pk), {"type": "session.check"}))
