"""Finds the account that a directory refers to: the one that the person signs in to, so that no duplicate is created."""

from __future__ import annotations

from chatui.accounts.sign_in_rules.provider import Provider
from chatui.audit_log.record import Visitor, record
from chatui.models import OutsideIdentity, ProvisionedAccount, User
from chatui.models.accounts.closed_account import Cause
from chatui.offboarding import closing
from chatui.provisioning import memberships
from chatui.provisioning.scope import may_change


def people_with_id(provider: Provider, external_id: str) -> list[User]:
    """The people who sign in with this provider and have this id in its directory. If the directory's id is the subject of the sign-in
    (``sub``), this also finds people whose last sign-in was before directory ids were stored.
    """
    if not external_id:
        return []
    rows = OutsideIdentity.objects.filter(issuer=provider.issuer).select_related("user").order_by("id")
    rows = rows.filter(subject=external_id) if provider.scim_claim == "sub" else rows.filter(directory_id=external_id)
    return [row.user for row in rows]


def changeable_people_with_id(provider: Provider, external_id: str) -> list[User]:
    """The accounts of ``people_with_id`` that the directory may change."""
    return [user for user in people_with_id(provider, external_id) if may_change(user)]


def accounts_of(provider: Provider, row: ProvisionedAccount) -> list[User]:
    """All accounts that belong to one row of the directory. There are several only if they could not be merged."""
    return [row.user, *(user for user in changeable_people_with_id(provider, row.external_id) if user.pk != row.user_id)]


def merge(visitor: Visitor, provider: Provider, row: ProvisionedAccount) -> None:
    """Point ``row`` to the account that its person signs in to, and close the duplicate. Call it in a transaction. Recorded.

    If the row's account is closed, the person's other accounts are closed, too. If both accounts have been used, or another row refers to
    the other one, they remain separate, which is recorded, and are closed together.

    Raises:
        CannotCloseError, LastAccountManagerError: an account that this closes, or that loses permissions, is the last account manager.
    """
    others = [user for user in changeable_people_with_id(provider, row.external_id) if user.pk != row.user_id]
    if not others:
        return
    created = row.user
    if not created.is_active:
        cause, source = closing.closed_by(created) or (Cause.PROVISIONING, provider.key)
        for user in others:
            closing.close_account(user, cause, visitor, source=source)
    if len(others) > 1 or not _is_unused(row) or ProvisionedAccount.objects.filter(issuer=provider.issuer, user=others[0]).exists():
        for user in others:
            detail = f"the directory of {provider.key} means this account and {created.get_username()}"
            record("two accounts for one person", visitor, user.get_username(), detail=detail[:200])
        return
    row.user, row.made_account = others[0], False
    row.save(update_fields=["user", "made_account"])
    record("account changed", visitor, row.user.get_username(), detail=f"is the one that the directory of {provider.key} means now")
    memberships.remove_from_all(visitor, provider, created)
    closing.close_account(created, Cause.PROVISIONING, visitor, source=provider.key)
    memberships.sync_members(visitor, provider, [row.pk])


def _is_unused(row: ProvisionedAccount) -> bool:
    """Whether the directory created the account, and nobody has used it."""
    user = row.user
    is_known = user.has_usable_password() or user.last_login is not None or OutsideIdentity.objects.filter(user=user).exists()
    return row.made_account and not is_known and not user.conversations.exists()
