"""Connects a person's first sign-in with the account and groups that a directory has provisioned for them."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from chatui.accounts.sign_in_rules import account_managers
from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.single_sign_on import account_linking
from chatui.accounts.single_sign_on.claims import PersonClaims
from chatui.accounts.single_sign_on.errors import NotAdmittedError
from chatui.audit_log.record import Visitor
from chatui.models import OutsideIdentity, ProvisionedAccount, User
from chatui.provisioning import matching, memberships
from chatui.provisioning.errors import ScimError
from chatui.provisioning.scope import whole


def arrive(visitor: Visitor, provider: Provider, said: PersonClaims, invitation: str = "") -> User:
    """``account_linking.find_or_create_account``, with what the directory has provisioned.

    The sign-in may be the first to reveal the person's id in the directory: then their account is connected with the directory's row.
    """
    identities = OutsideIdentity.objects.filter(issuer=provider.issuer, subject=said.subject)
    identities.exclude(directory_id=said.directory_id).update(directory_id=said.directory_id)
    _settle(visitor, provider, said)
    return account_linking.find_or_create_account(visitor, provider, _with_groups(provider, said), invitation)


def connect(visitor: Visitor, provider: Provider, said: PersonClaims) -> None:
    """``account_linking.connect``, with what the directory has provisioned.

    Refused if the directory has closed the account, or the identity belongs to another closed account.
    """
    row = _row(provider, said)
    if row is not None and not row.user.is_active:
        raise NotAdmittedError("the account that the directory refers to is closed")
    account_linking.connect(visitor, provider, _with_groups(provider, said))
    _settle(visitor, provider, said)


def _row(provider: Provider, said: PersonClaims) -> ProvisionedAccount | None:
    """The directory's row for this person. It may be deleted, which counts as closed."""
    rows = ProvisionedAccount.objects.filter(issuer=provider.issuer, external_id=said.directory_id).select_related("user")
    return rows.first() if said.directory_id else None


def _settle(visitor: Visitor, provider: Provider, said: PersonClaims) -> None:
    row = _row(provider, said)
    others = [user for user in matching.used_by(provider, said.directory_id) if row and user.pk != row.user_id]
    if row is None or not others:
        return
    # The account of the last account manager is not changed, which is recorded, so that somebody can still manage accounts.
    with contextlib.suppress(ScimError), whole(visitor, provider):
        account_managers.lock([row.user_id, *(user.pk for user in others)])
        matching.settle(visitor, provider, row)


def _with_groups(provider: Provider, said: PersonClaims) -> PersonClaims:
    row = _row(provider, said) if said.groups is None else None
    return replace(said, told_groups=memberships.values_of(row)) if row and row.deleted_at is None else said
