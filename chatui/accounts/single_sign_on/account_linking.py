"""Finds or creates the account of a person who signs in with a provider, and links a provider's identity to a signed-in person's account.

An account is found by issuer and subject, and by nothing else: whoever can choose their address or name at some provider must not get
into an account that has the same.
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


def find_or_create_account(visitor: Visitor, provider: Provider, said: PersonClaims, invitation: str = "") -> User:
    """The person's account, in step with what the provider says; made with the first sign-in. ``visitor``: nobody yet, with their address.

    ``invitation`` (id and token with a slash between them) lets somebody sign up where the operator lets only invited people; it is used
    up by a new account alone.

    Raises:
        NotAdmittedError: the operator does not let them in.
        ClosedAccountError: the account is not active.
    """
    claims.admit(provider, said)
    try:
        with transaction.atomic():
            return _arrive(visitor, provider, said, invitation)
    except (IntegrityError, ValidationError):
        # Two first sign-ins at once, or two people of one name: the other one is there now.
        with transaction.atomic():
            return _arrive(visitor, provider, said, invitation)


def connect(visitor: Visitor, provider: Provider, said: PersonClaims) -> None:
    """Connect the identity with the account of ``visitor``, who is signed in and has just said so. Recorded.

    Raises:
        LinkedElsewhereError: the identity is another account's, or this account has one of the provider's already.
        NotAdmittedError: the operator does not let this identity in, or keeps this account apart.
    """
    claims.admit(provider, said)
    person = visitor.user
    if person is None or not _may_come_from_outside(person):
        raise NotAdmittedError("this account is opened by its password alone")
    try:
        with transaction.atomic():
            OutsideIdentity.objects.create(user=person, last_used_at=timezone.now(), **_columns(provider, said))
            record("identity connected", visitor, person.get_username(), detail=f"of {provider.key}")
    except IntegrityError:
        raise LinkedElsewhereError("the identity is connected already") from None


def _arrive(visitor: Visitor, provider: Provider, said: PersonClaims, invitation: str) -> User:
    identities = OutsideIdentity.objects.select_for_update(of=("self",)).select_related("user")
    identity = identities.filter(issuer=provider.issuer, subject=said.subject).first()
    identity = identity or _provisioned(provider, said) or _made(visitor, provider, said, invitation)
    person = identity.user
    if not person.is_active:
        raise ClosedAccountError("the account is not active")
    if not _may_come_from_outside(person):
        raise NotAdmittedError("this account is opened by its password alone")
    _update(visitor, identity, provider, said)
    if said.groups is not None or not ProvisionedGroup.objects.filter(issuer=provider.issuer).exists():
        _bring_in_step(visitor, person, provider, said)  # else its directory tells of groups, and has
    return person


def _bring_in_step(visitor: Visitor, person: User, provider: Provider, said: PersonClaims) -> None:
    try:
        group_sync.sync_groups(visitor, person, provider, said)
    except LastAccountManagerError as error:
        # Whoever is shut out with the last rights could give them to nobody any more.
        record("account not changed", visitor, person.get_username(), detail=f"says {provider.key}: {error}")


def _may_come_from_outside(person: User) -> bool:
    # A superuser may do everything, so nobody becomes one by what another server says.
    return not person.is_superuser and not password_use.is_emergency(person.get_username())


def _provisioned(provider: Provider, said: PersonClaims) -> OutsideIdentity | None:
    """The identity of somebody of whom the provider's directory has told already: by what it calls them itself, never by name.

    Raises ClosedAccountError where it has closed or deleted them: they get no new account in its place.
    """
    rows = ProvisionedAccount.objects.filter(issuer=provider.issuer, external_id=said.directory_id)
    found = rows.select_related("user").first() if said.directory_id else None
    if found is not None and not found.user.is_active:
        raise ClosedAccountError("the account is not active")
    if found is None or OutsideIdentity.objects.filter(user=found.user, issuer=provider.issuer).exists():
        return None
    return OutsideIdentity.objects.create(user=found.user, made_account=found.made_account, **_columns(provider, said))


def _made(visitor: Visitor, provider: Provider, said: PersonClaims, invitation: str) -> OutsideIdentity:
    if not provider.sign_up and not invitation:
        raise NotAdmittedError("has no account, and none is made")
    person: User = User.objects.create_user(names.free(said.name or said.email.partition("@")[0]), email=said.email)
    record("account created", visitor, person.get_username(), detail=f"with the first sign-in by {provider.key}")
    if invitation:
        _accept(visitor, invitation, person)
    return OutsideIdentity.objects.create(user=person, made_account=True, **_columns(provider, said))


def _accept(visitor: Visitor, invitation: str, person: User) -> None:
    invitation_id, _, token = invitation.partition("/")
    try:
        invitations.accept(visitor, invitation_id, token, person)
    except NotFoundError:
        raise NotAdmittedError("the invitation is not good any more") from None


def _columns(provider: Provider, said: PersonClaims) -> dict[str, str]:
    return {
        "issuer": provider.issuer,
        "subject": said.subject,
        "provider": provider.key,
        "name": said.name,
        "directory_id": said.directory_id,
    }


def _update(visitor: Visitor, identity: OutsideIdentity, provider: Provider, said: PersonClaims) -> None:
    """A changed name or address is the same person's. Only the account that a provider made follows its names."""
    person = identity.user
    if identity.made_account and said.name and said.name != identity.name:
        name = names.free(said.name, person)
        if name != person.username:
            record("account changed", visitor, person.username, detail=f"is called {name} now, says {provider.key}"[:200])
            person.username = name
            person.save(update_fields=["username", "name_skeleton", "folded_name_skeleton"])
    if identity.made_account and said.email and said.email != person.email:
        record("account changed", visitor, person.username, detail=f"has another e-mail address now, says {provider.key}")
        person.email = said.email
        person.save(update_fields=["email"])
    identity.name, identity.provider, identity.last_used_at = said.name, provider.key, timezone.now()
    identity.directory_id = said.directory_id
    identity.save(update_fields=["name", "provider", "last_used_at", "directory_id"])
