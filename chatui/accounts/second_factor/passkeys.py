"""A person's passkeys: adds, lists and removes them, and finds the owner of one that was used. Each change and refusal is recorded."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from chatui.accounts import sign_in
from chatui.accounts.second_factor import ceremonies, enrollment, notifications, required
from chatui.accounts.second_factor.ceremonies import Assertion, NewPasskey, RefusedPasskeyError
from chatui.accounts.second_factor.relying_party import Site
from chatui.accounts.sign_in_rules import password_use
from chatui.accounts.sign_in_rules.sign_in_file import sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.guess_limits import MustWaitError
from chatui.models import OutsideIdentity, Passkey, User
from chatui.permissions.access import NotFoundError

MAX_PASSKEYS = 20
"""The most passkeys of one person."""
MAX_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class OwnPasskey:
    """A passkey as the page shows it. ``is_removable``: another sign-in method (and second factor, if required) would remain."""

    id: UUID
    name: str
    made_at: datetime
    last_used_at: datetime | None
    is_removable: bool


def may_have(person: User) -> bool:
    """Whether this person may add passkeys: as with one-time codes, only people with a password. For others, the provider decides."""
    return password_use.may_use(person) and person.has_usable_password()


def passkeys_of(person: User) -> list[OwnPasskey]:
    """The person's passkeys, the oldest first."""
    rows = Passkey.objects.filter(user=person).order_by("made_at", "pk")
    return [OwnPasskey(row.pk, row.name, row.made_at, row.last_used_at, _may_remove(person, row.pk)) for row in rows]


def ids_of(person: User, site: Site) -> list[bytes]:
    """The credential ids of the person's passkeys for this site."""
    return [bytes(each) for each in Passkey.objects.filter(user=person, site=site.host).values_list("credential_id", flat=True)]


def add(visitor: Visitor, person: User, site: Site, new: NewPasskey, name: str) -> list[str]:
    """Add a passkey that ``ceremonies.verify_registration`` has checked. Recorded.

    Returns recovery codes, which are shown once; empty if the person already has some.

    Raises:
        RefusedPasskeyError: it is already known, the person may have none, or they have too many.
    """
    with transaction.atomic():
        _add(User.objects.select_for_update(no_key=True).get(pk=person.pk), site, new, name)
        record("passkey added", visitor, person.get_username())
        notifications.notify(person, "passkey-added")
        return enrollment.create_first_codes(person)


def record_not_added(visitor: Visitor, person: User, error: RefusedPasskeyError) -> None:
    """Record a refused passkey, after the transaction that tried to add it was rolled back."""
    record("passkey not added", visitor, person.get_username(), detail=error.why)


def _add(locked: User, site: Site, new: NewPasskey, name: str) -> None:
    if not may_have(locked) or Passkey.objects.filter(user=locked).count() >= MAX_PASSKEYS:
        raise RefusedPasskeyError("not for this account, or too many")
    try:
        with transaction.atomic():
            Passkey.objects.create(
                user=locked,
                name=_cleaned_name(name),
                site=site.host,
                credential_id=new.credential_id,
                digest=_digest(new.credential_id),
                public_key=new.public_key,
                sign_count=new.sign_count,
            )
    except IntegrityError:
        raise RefusedPasskeyError("already known") from None


@transaction.atomic
def remove(visitor: Visitor, person: User, passkey_id: UUID) -> None:
    """Remove one of the visitor's own passkeys. Recorded. Raises NotFoundError if it is not theirs or may not be removed."""
    User.objects.select_for_update(no_key=True).get(pk=person.pk)  # the second of two simultaneous removals must see the first
    row = Passkey.objects.filter(pk=passkey_id, user=person).first()
    if row is None or not _may_remove(person, row.pk):
        raise NotFoundError
    record("passkey removed", visitor, person.get_username())
    notifications.notify(person, "passkey-removed")
    row.delete()
    enrollment.delete_unneeded_codes(person)


def rename(visitor: Visitor, person: User, passkey_id: UUID, name: str) -> None:
    """Rename one of the visitor's own passkeys. Recorded, without the names. Raises NotFoundError if it is not theirs."""
    with transaction.atomic():
        if not Passkey.objects.filter(pk=passkey_id, user=person).update(name=_cleaned_name(name)):
            raise NotFoundError
        record("passkey renamed", visitor, person.get_username())


def find_owner(visitor: Visitor, site: Site, credential: str, challenges: Collection[bytes], device: str) -> User:
    """The person whose passkey was used to sign in. A refusal is recorded. ``device``: as for ``sign_in.admit``.

    Raises:
        RefusedPasskeyError: the passkey is not accepted, for any reason; people see the same message for all.
        MustWaitError: too many were tried.
    """
    row = None
    try:
        guess = sign_in.admit_passkey(visitor, device)
        assertion = ceremonies.read_assertion(credential, challenges)
        row = _row_of(assertion, site)
        # Nobody is known yet, so the authenticator's user handle must match the owner of the passkey.
        if not hmac.compare_digest(assertion.user_handle, ceremonies.handle_of(row.user)):
            raise RefusedPasskeyError("of another account")
        _use(row, site, assertion)
    except (RefusedPasskeyError, MustWaitError) as error:
        sign_in.record_passkey_refused(visitor, row.user if row else None, _reason(error))
        raise
    guess.succeeded()
    return row.user


def check(visitor: Visitor, person: User, site: Site, credential: str, challenges: Collection[bytes]) -> None:
    """Check a passkey in the step after the password: it must be this person's. Raises and records as ``find_owner``."""
    try:
        guess = enrollment.admit(visitor, person)
        assertion = ceremonies.read_assertion(credential, challenges)
        row = _row_of(assertion, site)
        if row.user_id != person.pk or (assertion.user_handle and assertion.user_handle != ceremonies.handle_of(person)):
            raise RefusedPasskeyError("of another account")
        _use(row, site, assertion)
    except (RefusedPasskeyError, MustWaitError) as error:
        sign_in.record_passkey_refused(visitor, person, _reason(error))
        raise
    guess.succeeded()


def _reason(error: RefusedPasskeyError | MustWaitError) -> str:
    return f"passkey: {error.why if isinstance(error, RefusedPasskeyError) else 'had to wait'}"


def _row_of(assertion: Assertion, site: Site) -> Passkey:
    found = Passkey.objects.select_related("user").filter(digest=_digest(assertion.credential_id), site=site.host)
    row: Passkey | None = found.first()
    if row is None:
        raise RefusedPasskeyError("unknown")
    return row


def _use(row: Passkey, site: Site, assertion: Assertion) -> None:
    if not row.user.is_active:
        raise RefusedPasskeyError("closed account")
    if not password_use.may_use(row.user):
        raise RefusedPasskeyError("this account needs a provider's sign-in")
    count = ceremonies.verify_assertion(site, assertion, bytes(row.public_key))
    # The condition is in the statement: of two simultaneous uses with the same counter, one is by a copy of the passkey.
    later = Q(sign_count__lt=count) if count else Q(sign_count=0)
    if not Passkey.objects.filter(later, pk=row.pk).update(sign_count=count, last_used_at=timezone.now()):
        raise RefusedPasskeyError("its counter did not increase, so there may be a copy")


def _may_remove(person: User, passkey_id: UUID) -> bool:
    others = Passkey.objects.filter(user=person).exclude(pk=passkey_id).exists()
    if required.is_required(person) and not others and not enrollment.has_app(person):
        return False
    if password_use.may_use(person) and (others or person.has_usable_password()):
        return True
    issuers = [provider.issuer for provider in sign_in_file().providers]
    return OutsideIdentity.objects.filter(user=person, issuer__in=issuers).exists()


def _cleaned_name(name: str) -> str:
    """The name as it is stored: one line, without characters that reorder the text around it."""
    plain = "".join(sign if sign.isprintable() else " " for sign in name)
    return " ".join(plain.split())[:MAX_NAME_CHARS] or "Passkey"


def _digest(credential_id: bytes) -> str:
    return hashlib.sha256(credential_id).hexdigest()
