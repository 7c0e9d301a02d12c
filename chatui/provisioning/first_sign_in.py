"""Connects a first sign-in with the account and groups that a directory has provisioned."""

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
    """As ``account_linking.find_or_create_account``.

    The directory's id of a person may become known only now: then account and row are connected.
    """
    identities = OutsideIdentity.objects.filter(issuer=provider.issuer, subject=said.subject)
    identities.exclude(directory_id=said.directory_id).update(directory_id=said.directory_id)
    _settle(visitor, provider, said)
    return account_linking.find_or_create_account(visitor, provider, _with_groups(provider, said), invitation)


def connect(visitor: Visitor, provider: Provider, said: PersonClaims) -> None:
    """As ``account_linking.connect``.

    Refused if the directory has closed the account, or the identity belongs to another closed account.
    """
    row = _row(provider, said)
    if row is not None and not row.user.is_active:
        raise NotAdmittedError("the account that the directory means is closed")
    account_linking.connect(visitor, provider, _with_groups(provider, said))
    _settle(visitor, provider, said)


def _row(provider: Provider, said: PersonClaims) -> ProvisionedAccount | None:
    """The directory's row for this person, including a deleted one, which counts as closed."""
    rows = ProvisionedAccount.objects.filter(issuer=provider.issuer, external_id=said.directory_id).select_related("user")
    return rows.first() if said.directory_id else None


def _settle(visitor: Visitor, provider: Provider, said: PersonClaims) -> None:
    row = _row(provider, said)
    others = [user for user in matching.used_by(provider, said.directory_id) if row and user.pk != row.user_id]
    if row is None or not others:
        return
    # The last account manager stays unchanged, which is recorded: they can still manage accounts.
    with contextlib.suppress(ScimError), whole(visitor, provider):
        account_managers.lock([row.user_id, *(user.pk for user in others)])
        matching.settle(visitor, provider, row)


def _with_groups(provider: Provider, said: PersonClaims) -> PersonClaims:
    row = _row(provider, said) if said.groups is None else None
    return replace(said, directory_groups=memberships.values_of(row)) if row and row.deleted_at is None else said
