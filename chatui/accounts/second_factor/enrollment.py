"""Sets up, checks and removes a person's second factor: one-time codes and recovery codes, which work once. Each change is recorded."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chatui.accounts.second_factor import notifications, required, totp
from chatui.audit_log.record import Visitor, record
from chatui.guess_limits import Guess, GuessLimit
from chatui.models import Passkey, RecoveryCode, SecondFactor, User
from chatui.permissions import four_eyes
from chatui.permissions.access import NotFoundError

RECOVERY_CODES = 10
_ALPHABET = "abcdefghjkmnpqrstvwxyz23456789"  # no letters or digits that look alike
_guesses = GuessLimit("one-time code")


class WrongCodeError(Exception):
    """The code is wrong, or was used before."""


@dataclass(frozen=True, slots=True)
class SecondFactorStatus:
    """The status of a person's second factor. ``has_app``: one-time codes are set up. ``codes_left``: unused recovery codes."""

    is_on: bool
    has_app: bool
    is_required: bool
    codes_left: int


def status_of(person: User) -> SecondFactorStatus:
    """The status of the person's second factor, for the page."""
    return SecondFactorStatus(
        is_on(person), has_app(person), required.is_required(person), RecoveryCode.objects.filter(user=person).count()
    )


def is_on(person: User) -> bool:
    """Whether this person must enter a code or use a passkey after their password."""
    return has_app(person) or has_passkeys(person)


def has_app(person: User) -> bool:
    """Whether they have one-time codes."""
    return SecondFactor.objects.filter(user=person).exclude(confirmed_at=None).exists()


def has_passkeys(person: User) -> bool:
    """Whether they have passkeys. Each passkey is a second factor as well."""
    return Passkey.objects.filter(user=person).exists()


def start_setup(person: User) -> None:
    """Start the setup of one-time codes with a new secret: somebody who knew the password may have seen the last unconfirmed one."""
    SecondFactor.objects.filter(user=person, confirmed_at=None).delete()


def secret_of(person: User) -> bytes:
    """The secret for the authenticator app during setup. It stays the same until it is confirmed or replaced.

    Raises WrongCodeError if one-time codes are already on.
    """
    row, _ = SecondFactor.objects.get_or_create(user=person)
    if row.confirmed_at is not None:
        raise WrongCodeError  # the secret is shown only during setup
    return _secret(row)


def confirm(visitor: Visitor, person: User, code: str) -> list[str]:
    """Switch one-time codes on with the first code of the app. Returns the recovery codes, which are shown once.

    Raises:
        WrongCodeError: the code is wrong.
        MustWaitError: too many codes were tried.
    """
    row = SecondFactor.objects.filter(user=person, confirmed_at=None).first()
    if row is None:
        raise WrongCodeError
    _check_app(visitor, row, code)
    with transaction.atomic():
        if not SecondFactor.objects.filter(pk=row.pk, confirmed_at=None).update(confirmed_at=timezone.now()):
            raise WrongCodeError
        record("second factor set up", visitor, person.get_username())
        notifications.notify(person, "codes-set-up")
        return _create_codes(person)


def check(visitor: Visitor, person: User, code: str) -> None:
    """Check a code of the app or a recovery code, and use it up.

    Raises:
        WrongCodeError, MustWaitError: as for ``confirm``.
    """
    plain = "".join(code.split()).replace("-", "").lower()
    if plain.isdigit() and len(plain) == totp.DIGITS:
        row = SecondFactor.objects.filter(user=person).exclude(confirmed_at=None).first()
        if row is None:
            raise WrongCodeError
        _check_app(visitor, row, plain)
        return
    guess = admit(visitor, person)
    with transaction.atomic():
        # Deleting the row uses up the code: of two simultaneous requests, only one succeeds.
        if not RecoveryCode.objects.filter(user=person, digest=_digest(plain)).delete()[0]:
            raise WrongCodeError
        record("recovery code used", visitor, person.get_username())
    guess.succeeded()


@transaction.atomic
def replace_codes(visitor: Visitor, person: User) -> list[str]:
    """Replace all recovery codes with new ones. Recorded."""
    # Of two simultaneous requests, the second waits and replaces the codes of the first.
    User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if not is_on(person):
        raise WrongCodeError
    record("recovery codes made", visitor, person.get_username())
    notifications.notify(person, "recovery-codes")
    return _create_codes(person)


def create_first_codes(person: User) -> list[str]:
    """Create recovery codes for a person who has none; empty for others. Call it in the transaction that adds a factor."""
    return [] if RecoveryCode.objects.filter(user=person).exists() else _create_codes(person)


def delete_unneeded_codes(person: User) -> None:
    """Delete recovery codes if no factor is left. Call it in the transaction that removed one."""
    if not is_on(person):
        RecoveryCode.objects.filter(user=person).delete()


@transaction.atomic
def switch_app_off(visitor: Visitor, person: User) -> None:
    """Switch one-time codes off; passkeys stay. Recorded. Raises NotFoundError if this is the last factor and one is required."""
    User.objects.select_for_update(no_key=True).get(pk=person.pk)  # a passkey that is being removed at the same time must not count
    if not has_passkeys(person):
        if required.is_required(person):
            raise NotFoundError
        remove(visitor, person)
    elif SecondFactor.objects.filter(user=person).exclude(confirmed_at=None).delete()[0]:
        record("one-time codes switched off", visitor, person.get_username())
        notifications.notify(person, "codes-off")


@transaction.atomic
def remove(visitor: Visitor, person: User) -> None:
    """Remove all factors: one-time codes, recovery codes and passkeys. Recorded if any was on."""
    was_on = is_on(person)
    SecondFactor.objects.filter(user=person).delete()
    Passkey.objects.filter(user=person).delete()
    RecoveryCode.objects.filter(user=person).delete()
    if was_on:
        record("second factor removed", visitor, person.get_username())
        notifications.notify(person, "factor-removed")
        four_eyes.record_change(visitor.user, [person.pk], "second factor removed")


def admit(visitor: Visitor, person: User) -> Guess:
    """Count an attempt at the second step, with any kind of factor. Raises MustWaitError."""
    return _guesses.admit(visitor.address, account=str(person.pk))


def _check_app(visitor: Visitor, row: SecondFactor, code: str) -> None:
    guess = admit(visitor, row.user)
    step = totp.step_of(_secret(row), "".join(code.split()))
    # The condition is in the statement: of two simultaneous requests with one code, only one succeeds.
    if step is None or not SecondFactor.objects.filter(pk=row.pk, last_step__lt=step).update(last_step=step):
        raise WrongCodeError
    guess.succeeded()


def _secret(row: SecondFactor) -> bytes:
    return hmac.new(settings.SECRET_KEY.encode(), b"chatui.second_factor " + row.pk.bytes, hashlib.sha256).digest()[:20]


def _create_codes(person: User) -> list[str]:
    codes = ["-".join("".join(secrets.choice(_ALPHABET) for _ in range(5)) for _ in range(3)) for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.filter(user=person).delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(user=person, digest=_digest(code.replace("-", ""))) for code in codes)
    return codes


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
