"""A person's passkeys: adds, lists and removes them, and finds the owner of one that was used (``passkey_ceremonies`` verifies it).

Each change and refusal is recorded.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from chatui.accounts import passkey_ceremonies, second_factor, sessions, sign_in, sign_in_notices, sign_in_settings
from chatui.accounts.passkey_ceremonies import RefusedPasskeyError, Site, handle_of
from chatui.audit_log.record import Visitor, record
from chatui.guesses import GuessLimit, MustWaitError, Scope
from chatui.models.passkeys import Passkey
from chatui.models.user import User
from chatui.permissions.access import NotFoundError, person_of
from renderer.characters import one_line

if TYPE_CHECKING:
    from webauthn.registration.verify_registration_response import VerifiedRegistration


# Nobody can guess a signature, so a valid one is never refused. Each other attempt costs time and a log line.
_attempts = GuessLimit("passkey", address=Scope(free=20, longest=300, window=3600))


MAX_PASSKEYS = 20
"""The most passkeys of one person."""
MAX_NAME_CHARS = 60


def may_have(person: User) -> bool:
    """Whether this person may add passkeys: as with one-time codes, only people with a password. For others, the provider decides."""
    return sign_in_settings.may_use(person) and person.has_usable_password()


def passkeys_of(person: User) -> QuerySet[Passkey]:
    """The person's passkeys, the oldest first."""
    return Passkey.objects.filter(user=person).order_by("made_at", "pk")


def may_remove_one(person: User) -> bool:
    """Whether another sign-in method, and second factor if one is required, would remain without one of the person's passkeys."""
    has_others = passkeys_of(person).count() > 1
    if second_factor.is_required(person) and not has_others and not second_factor.has_app(person):
        return False
    has_own_way = sign_in_settings.may_use(person) and (has_others or person.has_usable_password())
    return has_own_way or sign_in_settings.has_outside_way(person)


def add(visitor: Visitor, person: User, site: Site, new: VerifiedRegistration, name: str) -> tuple[Passkey, list[str]]:
    """Add a passkey that ``verify_registration`` has checked. Recorded.

    Returns it, and recovery codes, which are shown once; none if the person already has some. Raises RefusedPasskeyError if it is already
    known, the person may have none, or they have too many.
    """
    with transaction.atomic():
        added = _add(User.objects.select_for_update(no_key=True).get(pk=person.pk), site, new, name)
        record("passkey added", visitor, person.get_username())
        sign_in_notices.notify(person, "passkey-added")
        return added, second_factor.create_first_codes(person)


def record_not_added(visitor: Visitor, person: User, error: RefusedPasskeyError) -> None:
    """Record a refused passkey, after the transaction that tried to add it was rolled back."""
    record("passkey not added", visitor, person.get_username(), detail=error.why)


def _add(locked: User, site: Site, new: VerifiedRegistration, name: str) -> Passkey:
    if not may_have(locked) or passkeys_of(locked).count() >= MAX_PASSKEYS:
        raise RefusedPasskeyError("not for this account, or too many")
    try:
        with transaction.atomic():
            return Passkey.objects.create(
                user=locked,
                name=_cleaned_name(name),
                site=site.host,
                credential_id=new.credential_id,
                digest=_digest(new.credential_id),
                public_key=new.credential_public_key,
                sign_count=new.sign_count,
            )
    except IntegrityError:
        raise RefusedPasskeyError("already known") from None


@transaction.atomic
def remove(visitor: Visitor, passkey_id: UUID, current_key: str | None) -> None:
    """Remove one of the visitor's own passkeys, and end the sessions that it began, except the current one. Recorded, and told.

    Raises NotFoundError if it is not theirs or may not be removed.
    """
    person = person_of(visitor)
    User.objects.select_for_update(no_key=True).get(pk=person.pk)  # the second of two simultaneous removals must see the first
    row = Passkey.objects.filter(pk=passkey_id, user=person).first()
    if row is None or not may_remove_one(person):
        raise NotFoundError
    record("passkey removed", visitor, person.get_username())
    sign_in_notices.notify(person, "passkey-removed")
    sessions.end_begun_with(person, str(row.pk), current_key)
    row.delete()
    second_factor.delete_unneeded_codes(person)


def rename(visitor: Visitor, person: User, passkey_id: UUID, name: str) -> None:
    """Rename one of the visitor's own passkeys. Recorded, without the names. Raises NotFoundError if it is not theirs."""
    with transaction.atomic():
        if not Passkey.objects.filter(pk=passkey_id, user=person).update(name=_cleaned_name(name)):
            raise NotFoundError
        record("passkey renamed", visitor, person.get_username())


def use(visitor: Visitor, site: Site, credential: str, challenges: Collection[bytes], person: User | None = None) -> Passkey:
    """The passkey that was used to sign in, with its owner; in the step after the password, it must be this ``person``'s.

    Each use is counted, and a refusal recorded.

    Raises:
        RefusedPasskeyError: the passkey is not accepted, for any reason; people see the same message for all.
        MustWaitError: too many were tried.
    """
    from webauthn.helpers import parse_authentication_credential_json

    owner = person
    try:
        guess = second_factor.admit(visitor, person) if person else None
        read = passkey_ceremonies.read_response(credential, parse_authentication_credential_json)
        challenge = passkey_ceremonies.challenge_of(read.response.client_data_json, "webauthn.get", challenges)
        row = Passkey.objects.select_related("user").filter(digest=_digest(read.raw_id), site=site.host).first()
        if row is None:
            raise RefusedPasskeyError("unknown")
        owner = person or row.user
        # The authenticator's user handle may be missing only if somebody is known already.
        handle = read.response.user_handle or (handle_of(owner) if person else b"")
        if row.user_id != owner.pk or not hmac.compare_digest(handle, handle_of(owner)):
            raise RefusedPasskeyError("of another account")
        if not row.user.is_active:
            raise RefusedPasskeyError("closed account")
        if not sign_in_settings.may_use(row.user):
            raise RefusedPasskeyError("this account needs a provider's sign-in")
        _count_use(row, passkey_ceremonies.verify_use(site, row, read, challenge))
    except (RefusedPasskeyError, MustWaitError) as error:
        refused = _counted(visitor, error) if person is None else error
        why = refused.why if isinstance(refused, RefusedPasskeyError) else "had to wait"
        sign_in.record_way_refused(visitor, owner, f"passkey: {why}", "passkey refused")
        raise refused from None
    if guess is not None:
        guess.succeeded()
    return row


def _counted(visitor: Visitor, refused: RefusedPasskeyError | MustWaitError) -> RefusedPasskeyError | MustWaitError:
    try:
        _attempts.miss(visitor.address)
    except MustWaitError as wait:
        return wait
    return refused


def _count_use(row: Passkey, count: int) -> None:
    # The condition is in the statement: of two simultaneous uses with the same counter, one is by a copy of the passkey.
    later = Q(sign_count__lt=count) if count else Q(sign_count=0)
    if not Passkey.objects.filter(later, pk=row.pk).update(sign_count=count, last_used_at=timezone.now()):
        raise RefusedPasskeyError("its counter did not increase, so there may be a copy")


def _cleaned_name(name: str) -> str:
    """The name as it is stored: one line, without characters that reorder the text around it."""
    return one_line(name)[:MAX_NAME_CHARS] or "Passkey"


def _digest(credential_id: bytes) -> str:
    return hashlib.sha256(credential_id).hexdigest()
