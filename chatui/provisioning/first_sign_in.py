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
from chatui.provisioning.scope import all_or_nothing


def find_or_create_account(visitor: Visitor, provider: Provider, claims: PersonClaims, invitation: str = "") -> User:
    """``account_linking.find_or_create_account``, with what the directory has provisioned.

    The sign-in may be the first to reveal the person's id in the directory: then their account is connected with the directory's row.
    """
    identities = OutsideIdentity.objects.filter(issuer=provider.issuer, subject=claims.subject)
    identities.exclude(directory_id=claims.directory_id).update(directory_id=claims.directory_id)
    _merge(visitor, provider, claims)
    return account_linking.find_or_create_account(visitor, provider, _with_groups(provider, claims), invitation)


def connect(visitor: Visitor, provider: Provider, claims: PersonClaims) -> None:
    """``account_linking.connect``, with what the directory has provisioned.

    Refused if the directory has closed the account, or the identity belongs to another closed account.
    """
    row = _row(provider, claims)
    if row is not None and not row.user.is_active:
        raise NotAdmittedError("the account that the directory refers to is closed")
    account_linking.connect(visitor, provider, _with_groups(provider, claims))
    _merge(visitor, provider, claims)


def _row(provider: Provider, claims: PersonClaims) -> ProvisionedAccount | None:
    """The directory's row for this person. It may be deleted, which counts as closed."""
    rows = ProvisionedAccount.objects.filter(issuer=provider.issuer, external_id=claims.directory_id).select_related("user")
    return rows.first() if claims.directory_id else None


def _merge(visitor: Visitor, provider: Provider, claims: PersonClaims) -> None:
    row = _row(provider, claims)
    others = [user for user in matching.changeable_people_with_id(provider, claims.directory_id) if row and user.pk != row.user_id]
    if row is None or not others:
        return
    # The account of the last account manager is not changed, which is recorded, so that somebody can still manage accounts.
    with contextlib.suppress(ScimError), all_or_nothing(visitor, provider):
        account_managers.lock([row.user_id, *(user.pk for user in others)])
        matching.merge(visitor, provider, row)


def _with_groups(provider: Provider, claims: PersonClaims) -> PersonClaims:
    row = _row(provider, claims) if claims.groups is None else None
    return replace(claims, directory_groups=memberships.values_of(row)) if row and row.deleted_at is None else claims
