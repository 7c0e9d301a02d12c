"""Finds or creates the account of a person who signs in with a provider; links, lists and removes the identities of a signed-in person.

An account is found only by issuer and subject: somebody who can choose their name or e-mail address at a provider must not get into another
person's account with the same one. A new account gets a free name that is made from the provider's own name for the person. Each change is
recorded.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from chatui.accounts import (
    free_names,
    invitations,
    provider_claims,
    provider_groups,
    sessions,
    sign_in_notices,
    sign_in_settings,
)
from chatui.accounts.openid import AccountClosedError, BadSignInError, LinkedElsewhereError, NotAdmittedError
from chatui.accounts.provider_claims import PersonClaims
from chatui.accounts.sign_in_settings import Provider, sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.models.provisioning import GivenGroups, ProvisionedAccount, ProvisionedGroup
from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import User
from chatui.permissions.access import NotFoundError, person_of

log = logging.getLogger(__name__)


def find_or_create_account(visitor: Visitor, provider: Provider, person_claims: PersonClaims, invitation: str = "") -> User:
    """The person's account, created at the first sign-in and updated from the provider's claims.

    ``visitor``: not signed in yet, with their address. ``invitation`` (``id/token``) lets somebody sign up where the operator admits only
    invited people; only a new account uses it up.

    Raises:
        NotAdmittedError: the operator does not let them in.
        AccountClosedError: the account is not active.
    """
    provider_claims.admit(provider, person_claims)
    try:
        with transaction.atomic():
            return _find_or_create(visitor, provider, person_claims, invitation)
    except (IntegrityError, ValidationError):
        # Two simultaneous first sign-ins, or two people with one name: the other account exists now.
        with transaction.atomic():
            return _find_or_create(visitor, provider, person_claims, invitation)


def confirm(visitor: Visitor, provider: Provider, person_claims: PersonClaims) -> None:
    """Check that a provider has just asked for the person who is signed in, and that they may still enter.

    Raises NotListedError, or BadSignInError for anybody else.
    """
    provider_claims.admit(provider, person_claims)
    if not OutsideIdentity.objects.filter(user=visitor.user, issuer=provider.issuer, subject=person_claims.subject).exists():
        raise BadSignInError("somebody else answered at the provider")


def connect(visitor: Visitor, provider: Provider, person_claims: PersonClaims) -> None:
    """Link the identity to the account of ``visitor``, who is signed in and has just confirmed this. Recorded.

    Raises:
        LinkedElsewhereError: see there.
        NotAdmittedError: the operator does not admit this identity, or this account allows only its password.
    """
    provider_claims.admit(provider, person_claims)
    person = visitor.user
    if person is None or not sign_in_settings.may_use_provider(person):
        raise NotAdmittedError("only the password opens this account")
    if person.is_heir:
        raise NotAdmittedError("no further identity opens the heir of closed accounts")
    try:
        with transaction.atomic():
            provider_groups.remember_giver(person, provider)
            OutsideIdentity.objects.create(user=person, last_used_at=timezone.now(), **_columns(provider, person_claims))
            record("identity connected", visitor, person.get_username(), detail=f"of {provider.key}")
            sign_in_notices.notify(person, "identity-connected")
    except IntegrityError:
        raise LinkedElsewhereError("the identity is already linked") from None


def _find_or_create(visitor: Visitor, provider: Provider, person_claims: PersonClaims, invitation: str) -> User:
    identities = OutsideIdentity.objects.select_for_update(of=("self",)).select_related("user")
    identity = identities.filter(issuer=provider.issuer, subject=person_claims.subject).first()
    identity = identity or _link_provisioned(provider, person_claims) or _create(visitor, provider, person_claims, invitation)
    person = identity.user
    if not person.is_active:
        raise AccountClosedError("the account is not active")
    if not sign_in_settings.may_use_provider(person):
        raise NotAdmittedError("only the password opens this account")
    sessions.readmit(visitor, person)
    _update(visitor, identity, provider, person_claims)
    if person_claims.groups is not None:
        provider_groups.try_to_set_groups(visitor, person, provider, person_claims.groups, is_admitted=True)
    elif ProvisionedGroup.objects.filter(issuer=provider.issuer).exists():
        provider_groups.try_to_set_groups(visitor, person, provider, person_claims.directory_groups, is_admitted=True)
    else:
        if provider.managed_groups or provider.staff:
            # The person's id, not the name: names are often e-mail addresses, which only the audit log may contain.
            log.warning("the provider %r sent no groups of a person, so they stay", provider.key, extra={"person": str(person.pk)})
            record("groups not said", visitor, person.get_username(), detail=f"by {provider.key}; they stay")
        if GivenGroups.objects.filter(user=person, issuer=provider.issuer, table=GivenGroups.TURNED_AWAY).exists():
            provider_groups.try_to_set_groups(visitor, person, provider, None, is_admitted=True)
    return person


def provisioned(provider: Provider, person_claims: PersonClaims) -> ProvisionedAccount | None:
    """The account that the provider's directory has made for this person, found by the directory's id; None if there is none. The directory
    may have deleted it: the caller treats that as a closed account."""
    rows = ProvisionedAccount.objects.filter(issuer=provider.issuer, external_id=person_claims.directory_id)
    return rows.select_related("user").first() if person_claims.directory_id else None


def _link_provisioned(provider: Provider, person_claims: PersonClaims) -> OutsideIdentity | None:
    """The new identity of a person whom the provider's directory has already provisioned, found by the directory's id, never by name.

    Raises AccountClosedError if the directory has closed or deleted the account, so that they get no new one.
    """
    found = provisioned(provider, person_claims)
    if found is not None and not found.user.is_active:
        raise AccountClosedError("the account is not active")
    if found is None or OutsideIdentity.objects.filter(user=found.user, issuer=provider.issuer).exists():
        return None
    if found.user.is_heir:
        raise NotAdmittedError("no further identity opens the heir of closed accounts")
    return OutsideIdentity.objects.create(user=found.user, made_account=found.made_account, **_columns(provider, person_claims))


def _create(visitor: Visitor, provider: Provider, person_claims: PersonClaims, invitation: str) -> OutsideIdentity:
    if not provider.sign_up and not invitation:
        raise NotAdmittedError("no account, and sign-up is off")
    person: User = User.objects.create_user(
        free_names.free_name(person_claims.name or person_claims.email.partition("@")[0]), email=person_claims.email
    )
    record("account created", visitor, person.get_username(), detail=f"with the first sign-in by {provider.key}")
    provider_groups.remember_giver(person, provider)
    if invitation:
        invitation_id, _, token = invitation.partition("/")
        try:
            invitations.accept(visitor, invitation_id, token, person)
        except NotFoundError:
            raise NotAdmittedError("the invitation is no longer valid") from None
    return OutsideIdentity.objects.create(user=person, made_account=True, **_columns(provider, person_claims))


def _columns(provider: Provider, person_claims: PersonClaims) -> dict[str, str]:
    return {
        "issuer": provider.issuer,
        "subject": person_claims.subject,
        "provider": provider.key,
        "name": person_claims.name,
        "email": person_claims.email,
        "directory_id": person_claims.directory_id,
    }


def _update(visitor: Visitor, identity: OutsideIdentity, provider: Provider, person_claims: PersonClaims) -> None:
    """Update the identity. The account's name and e-mail address are updated only if the provider created the account."""
    person = identity.user
    if identity.made_account and person_claims.name and person_claims.name != identity.name and not person.is_heir:
        name = free_names.free_name(person_claims.name, person)
        if name != person.username:
            record("account changed", visitor, person.username, detail=f"is called {name} now, says {provider.key}"[:200])
            person.username = name
            person.save(update_fields=["username", "name_skeleton", "folded_name_skeleton"])
    if identity.made_account and person_claims.email != person.email and (person_claims.email or _is_by_provider_alone(identity)):
        which = "another e-mail address" if person_claims.email else "no verified e-mail address"
        record("account changed", visitor, person.username, detail=f"has {which} now, says {provider.key}")
        person.email = person_claims.email
        person.save(update_fields=["email"])
    for name, value in _columns(provider, person_claims).items():
        setattr(identity, name, value)
    identity.last_used_at = timezone.now()
    identity.save()


def _is_by_provider_alone(identity: OutsideIdentity) -> bool:
    """Whether the account has its address only because this provider called it verified at the last sign-in.

    Then staff have not changed it since, and the provider's directory does not name it.
    """
    person = identity.user
    in_directory = ProvisionedAccount.objects.filter(user=person, issuer=identity.issuer, email=person.email, deleted_at=None)
    return bool(identity.email) and identity.email == person.email and not in_directory.exists()


@dataclass(frozen=True, slots=True)
class ShownIdentity:
    """An identity as the page shows it."""

    id: UUID
    service: str
    """The provider's name."""
    name: str
    """The provider's name for the person."""
    made_at: datetime
    last_used_at: datetime | None
    is_removable: bool
    """Whether another sign-in method would remain."""


def identities_of(person: User) -> list[ShownIdentity]:
    """The person's identities, the oldest first."""
    rows = OutsideIdentity.objects.filter(user=person).order_by("made_at")
    names = {provider.issuer: provider.name for provider in sign_in_file().providers}
    return [
        ShownIdentity(row.pk, names.get(row.issuer, row.provider), row.name, row.made_at, row.last_used_at, _may_remove(person, row.pk))
        for row in rows
    ]


def connectable(person: User) -> Sequence[tuple[str, str]]:
    """Providers with which the person has no identity yet: key and name."""
    if person.is_heir or not sign_in_settings.may_use_provider(person):
        return []
    taken = set(OutsideIdentity.objects.filter(user=person).values_list("issuer", flat=True))
    return [(provider.key, provider.name) for provider in sign_in_file().providers if provider.issuer not in taken]


def confirmable(person: User) -> Sequence[tuple[str, str]]:
    """The providers that can confirm that this is the person: key and name."""
    issuers = set(OutsideIdentity.objects.filter(user=person).values_list("issuer", flat=True))
    return [(provider.key, provider.name) for provider in sign_in_file().providers if provider.issuer in issuers]


def _may_remove(person: User, identity_id: UUID) -> bool:
    """Whether another sign-in method would remain without this identity."""
    return sign_in_settings.has_own_way(person) or sign_in_settings.has_outside_way(person, without=identity_id)


def remove_identity(visitor: Visitor, identity_id: UUID, current_key: str | None) -> None:
    """Remove one of the visitor's own identities, with the sessions and groups that its provider gave them. Recorded, and told.

    The current session goes on: they have just confirmed in it who they are.
    Raises NotFoundError if it is not theirs, or is their last sign-in method.
    """
    person = person_of(visitor)
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=person.pk)  # the second of two simultaneous removals must see the first
        row = OutsideIdentity.objects.filter(pk=identity_id, user=person).first()
        if row is None or not _may_remove(person, row.pk):
            raise NotFoundError
        record("identity removed", visitor, person.get_username(), detail=f"of {row.provider}")
        sign_in_notices.notify(person, "identity-removed")
        sessions.end_provider_sessions(row.issuer, row.provider, person, "", current_key)
        provider = next((each for each in sign_in_file().providers if each.issuer == row.issuer), None)
        # A directory may still say what the provider said.
        if provider is not None and not ProvisionedAccount.objects.filter(user=person, issuer=row.issuer, deleted_at=None).exists():
            provider_groups.try_to_set_groups(visitor, row.user, provider, frozenset())
        row.delete()
