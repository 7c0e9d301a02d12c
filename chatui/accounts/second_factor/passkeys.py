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
from chatui.accounts.second_factor.ceremonies import Answer, NewPasskey, RefusedPasskeyError
from chatui.accounts.second_factor.relying_party import Site
from chatui.accounts.sign_in_rules import password_use
from chatui.accounts.sign_in_rules.sign_in_file import sign_in_file
from chatui.audit_log.record import Visitor, record
from chatui.guess_limits import MustWaitError
from chatui.models import OutsideIdentity, Passkey, User
from chatui.permissions.access import NotFoundError

MOST = 20
"""How many one person may have."""
MOST_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class OwnPasskey:
    """A passkey as the page shows it. ``may_go``: it can be removed, because another sign-in method (and factor, if required) is left."""

    id: UUID
    name: str
    made_at: datetime
    last_used_at: datetime | None
    may_go: bool


def may_have(person: User) -> bool:
    """Whether this person may add one: as for one-time codes, whoever signs in with a password. Others go where their provider says."""
    return password_use.may_use(person) and person.has_usable_password()


def of(person: User) -> list[OwnPasskey]:
    """The person's, the oldest first."""
    rows = Passkey.objects.filter(user=person).order_by("made_at", "pk")
    return [OwnPasskey(row.pk, row.name, row.made_at, row.last_used_at, _may_remove(person, row.pk)) for row in rows]


def ids_of(person: User, site: Site) -> list[bytes]:
    """What browsers call those that the person has for this site."""
    return [bytes(each) for each in Passkey.objects.filter(user=person, site=site.host).values_list("credential_id", flat=True)]


def add(visitor: Visitor, person: User, site: Site, new: NewPasskey, name: str) -> list[str]:
    """Add one that ``ceremonies.made`` has checked. Recorded. Returns recovery codes, which are shown once, where the person had none.

    Raises:
        RefusedPasskeyError: it is known already, not for this person, or there are too many.
    """
    with transaction.atomic():
        _add(User.objects.select_for_update(no_key=True).get(pk=person.pk), site, new, name)
        record("passkey added", visitor, person.get_username())
        notifications.tell(person, "passkey-added")
        return enrollment.first_codes(person)


def record_not_added(visitor: Visitor, person: User, error: RefusedPasskeyError) -> None:
    """One that was refused, outside of a transaction that is undone."""
    record("passkey not added", visitor, person.get_username(), detail=error.why)


def _add(held: User, site: Site, new: NewPasskey, name: str) -> None:
    if not may_have(held) or Passkey.objects.filter(user=held).count() >= MOST:
        raise RefusedPasskeyError("not for this account, or too many")
    try:
        with transaction.atomic():
            Passkey.objects.create(
                user=held,
                name=_bounded(name),
                site=site.host,
                credential_id=new.credential_id,
                digest=_digest(new.credential_id),
                public_key=new.public_key,
                sign_count=new.sign_count,
            )
    except IntegrityError:
        raise RefusedPasskeyError("known already") from None


@transaction.atomic
def remove(visitor: Visitor, person: User, passkey_id: UUID) -> None:
    """Take one of one's own away. Recorded. Raises NotFoundError where it is not theirs, or may not go."""
    User.objects.select_for_update(no_key=True).get(pk=person.pk)  # of two that are taken away at once, one must be left
    row = Passkey.objects.filter(pk=passkey_id, user=person).first()
    if row is None or not _may_remove(person, row.pk):
        raise NotFoundError
    record("passkey removed", visitor, person.get_username())
    notifications.tell(person, "passkey-removed")
    row.delete()
    enrollment.delete_unneeded_codes(person)


def rename(visitor: Visitor, person: User, passkey_id: UUID, name: str) -> None:
    """Give one of one's own another name. Recorded, without the names. Raises NotFoundError where it is not theirs."""
    with transaction.atomic():
        if not Passkey.objects.filter(pk=passkey_id, user=person).update(name=_bounded(name)):
            raise NotFoundError
        record("passkey renamed", visitor, person.get_username())


def whose(visitor: Visitor, site: Site, said: str, challenges: Collection[bytes], device: str) -> User:
    """The person whose passkey was used to sign in. A refusal is recorded. ``device``: as for ``sign_in.admit``.

    Raises:
        RefusedPasskeyError: whatever is wrong; people are told the same of all.
        MustWaitError: too many were tried.
    """
    row = None
    try:
        guess = sign_in.admit_passkey(visitor, device)
        answer = ceremonies.answer_in(said, challenges)
        row = _row_of(answer, site)
        # Nobody has said yet who they are: what the authenticator says has to agree with what is known of it.
        if not hmac.compare_digest(answer.user_handle, ceremonies.handle_of(row.user)):
            raise RefusedPasskeyError("of another account")
        _use(row, site, answer)
    except (RefusedPasskeyError, MustWaitError) as error:
        sign_in.record_passkey_refused(visitor, row.user if row else None, _told(error))
        raise
    guess.succeeded()
    return row.user


def check(visitor: Visitor, person: User, site: Site, said: str, challenges: Collection[bytes]) -> None:
    """The step after a password: the passkey has to be this person's. Raises and records as ``whose``."""
    try:
        guess = enrollment.admit(visitor, person)
        answer = ceremonies.answer_in(said, challenges)
        row = _row_of(answer, site)
        if row.user_id != person.pk or (answer.user_handle and answer.user_handle != ceremonies.handle_of(person)):
            raise RefusedPasskeyError("of another account")
        _use(row, site, answer)
    except (RefusedPasskeyError, MustWaitError) as error:
        sign_in.record_passkey_refused(visitor, person, _told(error))
        raise
    guess.succeeded()


def _told(error: RefusedPasskeyError | MustWaitError) -> str:
    return f"passkey: {error.why if isinstance(error, RefusedPasskeyError) else 'had to wait'}"


def _row_of(answer: Answer, site: Site) -> Passkey:
    found = Passkey.objects.select_related("user").filter(digest=_digest(answer.credential_id), site=site.host)
    row: Passkey | None = found.first()
    if row is None:
        raise RefusedPasskeyError("not known")
    return row


def _use(row: Passkey, site: Site, answer: Answer) -> None:
    if not row.user.is_active:
        raise RefusedPasskeyError("closed account")
    if not password_use.may_use(row.user):
        raise RefusedPasskeyError("only a provider opens this account")
    count = ceremonies.count_of(site, answer, bytes(row.public_key))
    # The condition is in the statement: of two that come at once with the same count, one is a copy.
    later = Q(sign_count__lt=count) if count else Q(sign_count=0)
    if not Passkey.objects.filter(later, pk=row.pk).update(sign_count=count, last_used_at=timezone.now()):
        raise RefusedPasskeyError("its count went back, so there may be a copy")


def _may_remove(person: User, passkey_id: UUID) -> bool:
    others = Passkey.objects.filter(user=person).exclude(pk=passkey_id).exists()
    if required.is_required(person) and not others and not enrollment.has_app(person):
        return False
    if password_use.may_use(person) and (others or person.has_usable_password()):
        return True
    issuers = [provider.issuer for provider in sign_in_file().providers]
    return OutsideIdentity.objects.filter(user=person, issuer__in=issuers).exists()


def _bounded(name: str) -> str:
    """The name as it is kept: one line, without what moves the text around it."""
    plain = "".join(sign if sign.isprintable() else " " for sign in name)
    return " ".join(plain.split())[:MOST_NAME_CHARS] or "Passkey"


def _digest(credential_id: bytes) -> str:
    return hashlib.sha256(credential_id).hexdigest()
