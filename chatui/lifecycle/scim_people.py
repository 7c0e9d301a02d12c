"""Creates, changes and closes accounts for a provider's directory.

Accounts are found by the directory's ids, never by name. A new person of a directory gets the account that they already sign in to, if
there is one, so that no duplicate is created. A person's first sign-in is connected with the account and groups that a directory has
provisioned for them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace as replaced
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from chatui.accounts import account_linking, account_managers, free_names, provider_groups
from chatui.accounts.openid import NotAdmittedError, NotListedError
from chatui.accounts.provider_claims import PersonClaims
from chatui.accounts.sign_in_settings import Provider
from chatui.audit_log.record import Visitor, record
from chatui.lifecycle import closing, scim_groups, scim_patches
from chatui.lifecycle.scim_patches import PatchOperation, PersonAttributes, uuids
from chatui.lifecycle.scim_resources import USER, ForbiddenAccountError, NoSuchResourceError, ResourceExistsError, ScimError
from chatui.lifecycle.scim_tokens import all_or_nothing, changeable_accounts, may_change
from chatui.models.provisioning import ProvisionedAccount
from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import ClosingCause, User

SCHEMA = USER
NEEDED = "userName"
"""The attribute that a whole resource must have."""


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
        cause, source = closing.closed_by(created) or (ClosingCause.PROVISIONING, provider.key)
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
    scim_groups.remove_from_all(visitor, provider, created)
    closing.close_account(created, ClosingCause.PROVISIONING, visitor, source=provider.key)
    scim_groups.sync_members(visitor, provider, [row.pk])


def _is_unused(row: ProvisionedAccount) -> bool:
    """Whether the directory created the account, and nobody has used it."""
    user = row.user
    is_known = user.has_usable_password() or user.last_login is not None or OutsideIdentity.objects.filter(user=user).exists()
    return row.made_account and not is_known and not user.conversations.exists()


def search(provider: Provider, filter_text: str) -> QuerySet[ProvisionedAccount]:
    """The accounts that match a filter; all if it is empty. Raises ScimError for an unsupported filter."""
    conditions: dict[str, Callable[[str], Q]] = {
        "userName": lambda name: Q(name_key=_name_key(name)),
        "externalId": lambda key: Q(external_id=key),
        "id": lambda key: Q(pk__in=uuids([key])),
        "active": lambda value: Q(user__is_active=value.lower() == "true"),
        "emails": lambda address: Q(email__iexact=address) & ~Q(email=""),
    }
    return scim_patches.filtered(changeable_accounts(provider), filter_text, conditions)


def get(provider: Provider, key: str) -> ProvisionedAccount:
    """The account with that id. Raises NoSuchResourceError."""
    row = changeable_accounts(provider).filter(pk__in=uuids([key])).first()
    if row is None:
        raise NoSuchResourceError
    return row


def create(visitor: Visitor, provider: Provider, body: Mapping[str, Any]) -> ProvisionedAccount:
    """Create an account, or adopt the existing one that ``externalId`` refers to. Recorded.

    Raises:
        ResourceExistsError: the resource already exists, as when a create request is repeated.
        ForbiddenAccountError: it refers to an account that the directory may not change.
    """
    sent = scim_patches.person_attributes(scim_patches.of_resource(body, NEEDED))
    external_id = sent.get("external_id")
    if not external_id:
        raise ScimError("externalId is required, because it connects the account with the person's sign-in.", "invalidValue")
    with all_or_nothing(visitor, provider):
        account_managers.lock([user.pk for user in changeable_people_with_id(provider, external_id)])
        row = _create(visitor, provider, sent, external_id)
        merge(visitor, provider, row)
        _set_active(visitor, provider, row, is_active=sent.get("active", True))
    return row


def change(visitor: Visitor, provider: Provider, key: str, changes: Iterable[PatchOperation]) -> ProvisionedAccount:
    """Apply all changes of a PATCH, or of a whole resource (PUT), or none: attributes that were not sent stay. Recorded.

    Raises NoSuchResourceError, ResourceExistsError, ForbiddenAccountError and ScimError.
    """
    sent = scim_patches.person_attributes(changes, get(provider, key).email)
    with all_or_nothing(visitor, provider):
        row = get(provider, key)
        external_id = sent.get("external_id", row.external_id)
        account_managers.lock([row.user_id, *(user.pk for user in changeable_people_with_id(provider, external_id))])
        row = get(provider, key)  # read again after locking
        _update(visitor, provider, row, sent)
        merge(visitor, provider, row)
        if "active" in sent:
            _set_active(visitor, provider, row, is_active=sent["active"])
    return row


def delete(visitor: Visitor, provider: Provider, key: str) -> None:
    """Close the account of a person whom the directory has deleted. Only the operator's retention settings erase it.

    Raises the errors of ``change``.
    """
    with all_or_nothing(visitor, provider):
        row = get(provider, key)
        users = accounts_of(provider, row)
        account_managers.lock([user.pk for user in users])
        _set_active(visitor, provider, row, is_active=False)
        # Otherwise a person who is added again later would have their former permissions.
        row.groups.clear()
        for user in users:
            scim_groups.remove_from_all(visitor, provider, user)
        row.deleted_at = timezone.now()
        row.save(update_fields=["deleted_at"])


def _create(visitor: Visitor, provider: Provider, sent: PersonAttributes, external_id: str) -> ProvisionedAccount:
    name = sent["user_name"]
    earlier = ProvisionedAccount.objects.filter(issuer=provider.issuer, external_id=external_id).first()
    if earlier is not None and earlier.deleted_at is None:
        raise ResourceExistsError
    if ProvisionedAccount.objects.filter(issuer=provider.issuer, name_key=_name_key(name), deleted_at=None).exists():
        raise ResourceExistsError
    if earlier is None:
        earlier = _row_for_known_person(provider, external_id)
    if earlier is None:
        user: User = User.objects.create_user(free_names.free_name(name), email=sent.get("email", ""))
        provider_groups.remember_giver(user, provider)
        record("account created", visitor, user.get_username(), detail=f"by the directory of {provider.key}")
        earlier = ProvisionedAccount(user=user, issuer=provider.issuer, made_account=True)
    _check_may_change(earlier.user)
    earlier.external_id, earlier.user_name, earlier.name_key, earlier.deleted_at = external_id, name, _name_key(name), None
    earlier.save()
    _update(visitor, provider, earlier, sent)
    return earlier


def _row_for_known_person(provider: Provider, external_id: str) -> ProvisionedAccount | None:
    """A new or earlier row for the person who has signed in with this provider and has this id; None if nobody has, or several have."""
    users = people_with_id(provider, external_id)
    for user in users:
        _check_may_change(user)
    if len(users) != 1:
        return None
    row = ProvisionedAccount.objects.filter(issuer=provider.issuer, user=users[0]).select_related("user").first()
    if row is not None and row.deleted_at is None:
        raise ResourceExistsError
    return row or ProvisionedAccount(user=users[0], issuer=provider.issuer)


def _check_may_change(user: User) -> None:
    if not may_change(user):
        raise ForbiddenAccountError


def _update(visitor: Visitor, provider: Provider, row: ProvisionedAccount, sent: PersonAttributes) -> None:
    before = row.user_name
    for column, value in sent.items():
        if column != "active":
            setattr(row, column, value)
    row.name_key = _name_key(row.user_name)
    row.save()
    if row.made_account:
        _copy_names(visitor, provider, row, is_renamed=row.user_name != before)


def _copy_names(visitor: Visitor, provider: Provider, row: ProvisionedAccount, *, is_renamed: bool) -> None:
    """Copy the directory's name and e-mail address to an account that it created. Accounts that existed before keep their own."""
    user = row.user
    changed = [f"is called {free_names.free_name(row.user_name, user)} now"] if is_renamed else []
    if is_renamed:
        user.username = free_names.free_name(row.user_name, user)
    if row.email != user.email:
        changed.append("has another e-mail address now")
    user.email, user.first_name, user.last_name = row.email, row.given_name, row.family_name
    user.save(update_fields=["username", "name_skeleton", "folded_name_skeleton", "email", "first_name", "last_name"])
    for words in changed:
        record("account changed", visitor, user.get_username(), detail=f"{words}, says the directory of {provider.key}"[:200])


def _set_active(visitor: Visitor, provider: Provider, row: ProvisionedAccount, *, is_active: bool) -> None:
    for user in accounts_of(provider, row):
        if not is_active:
            closing.close_account(user, ClosingCause.PROVISIONING, visitor, source=provider.key)
            continue
        by = closing.closed_by(user)
        # An account that staff or the operator closed remains closed, whatever the directory sends.
        if by is not None and by[0].is_from_outside and by[1] == provider.key:
            closing.reopen_account(user, visitor)


def _name_key(name: str) -> str:
    return name.strip().casefold()[:255]


def find_or_create_account(visitor: Visitor, provider: Provider, claims: PersonClaims, invitation: str = "") -> User:
    """``account_linking.find_or_create_account``, with what the directory has provisioned.

    The sign-in may be the first to reveal the person's id in the directory: then their account is connected with the directory's row.
    """
    identities = OutsideIdentity.objects.filter(issuer=provider.issuer, subject=claims.subject)
    identities.exclude(directory_id=claims.directory_id).update(directory_id=claims.directory_id)
    _merge(visitor, provider, claims)
    with _turning_away(visitor, provider, claims):
        return account_linking.find_or_create_account(visitor, provider, _with_groups(provider, claims), invitation)


def connect(visitor: Visitor, provider: Provider, claims: PersonClaims) -> None:
    """``account_linking.connect``, with what the directory has provisioned.

    Refused if the directory has closed the account, or the identity belongs to another closed account.
    """
    row = account_linking.provisioned(provider, claims)
    if row is not None and not row.user.is_active:
        raise NotAdmittedError("the account that the directory refers to is closed")
    with _turning_away(visitor, provider, claims):
        account_linking.connect(visitor, provider, _with_groups(provider, claims))
    _merge(visitor, provider, claims)


def confirm(visitor: Visitor, provider: Provider, claims: PersonClaims) -> None:
    """``account_linking.confirm``, with the groups that the directory has provisioned."""
    with _turning_away(visitor, provider, claims):
        account_linking.confirm(visitor, provider, _with_groups(provider, claims))


@contextlib.contextmanager
def _turning_away(visitor: Visitor, provider: Provider, claims: PersonClaims) -> Iterator[None]:
    """A context manager around a sign-in: whoever may not enter any more loses what they have from this provider."""
    try:
        yield
    except NotListedError as error:
        closing.turn_away(visitor.as_nobody(), provider, claims.subject, error)
        raise


def _merge(visitor: Visitor, provider: Provider, claims: PersonClaims) -> None:
    row = account_linking.provisioned(provider, claims)
    others = [user for user in changeable_people_with_id(provider, claims.directory_id) if row and user.pk != row.user_id]
    if row is None or not others:
        return
    # The account of the last account manager is not changed, which is recorded, so that somebody can still manage accounts.
    with contextlib.suppress(ScimError), all_or_nothing(visitor, provider):
        account_managers.lock([row.user_id, *(user.pk for user in others)])
        merge(visitor, provider, row)


def _with_groups(provider: Provider, claims: PersonClaims) -> PersonClaims:
    row = account_linking.provisioned(provider, claims) if claims.groups is None else None
    return replaced(claims, directory_groups=scim_groups.values_of(row)) if row and row.deleted_at is None else claims
