"""Finds or creates the account of a person who signs in with a provider, and links a provider's identity to a signed-in person's account.

An account is found only by issuer and subject: somebody who can choose their name or e-mail address at a provider must not get into
another person's account with the same one.
"""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from chatui.accounts import invitations
from chatui.accounts.sign_in_rules import password_use
from chatui.accounts.sign_in_rules.account_managers import LastAccountManagerError
from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.single_sign_on import claims, group_sync, names
from chatui.accounts.single_sign_on.claims import PersonClaims
from chatui.accounts.single_sign_on.errors import ClosedAccountError, LinkedElsewhereError, NotAdmittedError
from chatui.audit_log.record import Visitor, record
from chatui.models import OutsideIdentity, ProvisionedAccount, ProvisionedGroup, User
from chatui.permissions.access import NotFoundError


def find_or_create_account(visitor: Visitor, provider: Provider, person_claims: PersonClaims, invitation: str = "") -> User:
    """The person's account, created at the first sign-in and updated from the provider's claims.

    ``visitor``: not signed in yet, with their address. ``invitation`` (``id/token``) lets somebody sign up where the operator admits only
    invited people; only a new account uses it up.

    Raises:
        NotAdmittedError: the operator does not let them in.
        ClosedAccountError: the account is not active.
    """
    claims.admit(provider, person_claims)
    try:
        with transaction.atomic():
            return _find_or_create(visitor, provider, person_claims, invitation)
    except (IntegrityError, ValidationError):
        # Two simultaneous first sign-ins, or two people with one name: the other account exists now.
        with transaction.atomic():
            return _find_or_create(visitor, provider, person_claims, invitation)


def connect(visitor: Visitor, provider: Provider, person_claims: PersonClaims) -> None:
    """Link the identity to the account of ``visitor``, who is signed in and has just confirmed this. Recorded.

    Raises:
        LinkedElsewhereError: the identity belongs to another account, or this account already has an identity at the provider.
        NotAdmittedError: the operator does not admit this identity, or this account allows only its password.
    """
    claims.admit(provider, person_claims)
    person = visitor.user
    if person is None or not _may_use_provider(person):
        raise NotAdmittedError("only the password opens this account")
    try:
        with transaction.atomic():
            OutsideIdentity.objects.create(user=person, last_used_at=timezone.now(), **_columns(provider, person_claims))
            record("identity connected", visitor, person.get_username(), detail=f"of {provider.key}")
    except IntegrityError:
        raise LinkedElsewhereError("the identity is already linked") from None


def _find_or_create(visitor: Visitor, provider: Provider, person_claims: PersonClaims, invitation: str) -> User:
    identities = OutsideIdentity.objects.select_for_update(of=("self",)).select_related("user")
    identity = identities.filter(issuer=provider.issuer, subject=person_claims.subject).first()
    identity = identity or _link_provisioned(provider, person_claims) or _create(visitor, provider, person_claims, invitation)
    person = identity.user
    if not person.is_active:
        raise ClosedAccountError("the account is not active")
    if not _may_use_provider(person):
        raise NotAdmittedError("only the password opens this account")
    _update(visitor, identity, provider, person_claims)
    if person_claims.groups is not None or not ProvisionedGroup.objects.filter(issuer=provider.issuer).exists():
        _sync_groups(visitor, person, provider, person_claims)  # otherwise the directory has already set the groups
    return person


def _sync_groups(visitor: Visitor, person: User, provider: Provider, person_claims: PersonClaims) -> None:
    try:
        group_sync.sync_groups(visitor, person, provider, person_claims)
    except LastAccountManagerError as error:
        # The last account manager keeps their permissions: otherwise nobody could grant them any more.
        record("account not changed", visitor, person.get_username(), detail=f"says {provider.key}: {error}")


def _may_use_provider(person: User) -> bool:
    # A superuser may do everything, so no other server may sign in as one.
    return not person.is_superuser and not password_use.is_emergency(person.get_username())


def _link_provisioned(provider: Provider, person_claims: PersonClaims) -> OutsideIdentity | None:
    """The new identity of a person whom the provider's directory has already provisioned, found by the directory's id, never by name.

    Raises ClosedAccountError if the directory has closed or deleted the account, so that they get no new one.
    """
    rows = ProvisionedAccount.objects.filter(issuer=provider.issuer, external_id=person_claims.directory_id)
    found = rows.select_related("user").first() if person_claims.directory_id else None
    if found is not None and not found.user.is_active:
        raise ClosedAccountError("the account is not active")
    if found is None or OutsideIdentity.objects.filter(user=found.user, issuer=provider.issuer).exists():
        return None
    return OutsideIdentity.objects.create(user=found.user, made_account=found.made_account, **_columns(provider, person_claims))


def _create(visitor: Visitor, provider: Provider, person_claims: PersonClaims, invitation: str) -> OutsideIdentity:
    if not provider.sign_up and not invitation:
        raise NotAdmittedError("no account, and sign-up is off")
    person: User = User.objects.create_user(
        names.free_name(person_claims.name or person_claims.email.partition("@")[0]), email=person_claims.email
    )
    record("account created", visitor, person.get_username(), detail=f"with the first sign-in by {provider.key}")
    if invitation:
        _accept(visitor, invitation, person)
    return OutsideIdentity.objects.create(user=person, made_account=True, **_columns(provider, person_claims))


def _accept(visitor: Visitor, invitation: str, person: User) -> None:
    invitation_id, _, token = invitation.partition("/")
    try:
        invitations.accept(visitor, invitation_id, token, person)
    except NotFoundError:
        raise NotAdmittedError("the invitation is no longer valid") from None


def _columns(provider: Provider, person_claims: PersonClaims) -> dict[str, str]:
    return {
        "issuer": provider.issuer,
        "subject": person_claims.subject,
        "provider": provider.key,
        "name": person_claims.name,
        "directory_id": person_claims.directory_id,
    }


def _update(visitor: Visitor, identity: OutsideIdentity, provider: Provider, person_claims: PersonClaims) -> None:
    """Update the identity. The account's name and e-mail address are updated only if the provider created the account."""
    person = identity.user
    if identity.made_account and person_claims.name and person_claims.name != identity.name:
        name = names.free_name(person_claims.name, person)
        if name != person.username:
            record("account changed", visitor, person.username, detail=f"is called {name} now, says {provider.key}"[:200])
            person.username = name
            person.save(update_fields=["username", "name_skeleton", "folded_name_skeleton"])
    if identity.made_account and person_claims.email and person_claims.email != person.email:
        record("account changed", visitor, person.username, detail=f"has another e-mail address now, says {provider.key}")
        person.email = person_claims.email
        person.save(update_fields=["email"])
    identity.name, identity.provider, identity.last_used_at = person_claims.name, provider.key, timezone.now()
    identity.directory_id = person_claims.directory_id
    identity.save(update_fields=["name", "provider", "last_used_at", "directory_id"])
