"""A person's second factor, one-time codes and recovery codes: who needs one, and how it is set up, checked and removed.

Members of groups need a second factor if the operator's settings or account managers require one. A code of either kind works once. Each
change is recorded.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from chatui.accounts import account_managers, one_time_codes, secret_texts, sessions, sign_in, sign_in_notices, sign_in_settings
from chatui.accounts.one_time_codes import DIGITS
from chatui.accounts.secret_texts import digest_of
from chatui.audit_log.record import Visitor, record
from chatui.env import environment
from chatui.guesses import Guess, GuessLimit
from chatui.models.passkeys import Passkey
from chatui.models.sign_in import RecoveryCode, RequiredFactor, SecondFactor
from chatui.models.user import User
from chatui.permissions import administration, four_eyes
from chatui.permissions.access import NotFoundError, person_of


def is_required(person: User) -> bool:
    """Whether one of their groups requires a second factor. One statement."""
    named = Q(name__in=environment().second_factor_groups)
    return person.groups.filter(named | Q(required_factor__isnull=False)).exists()


def members_without_factor(group: Group) -> list[User]:
    """The members, by name, who sign in with a password and have no second factor, and so are asked to set one up."""
    app = SecondFactor.objects.filter(user=OuterRef("pk")).exclude(confirmed_at=None)
    without = group.user_set.exclude(Exists(app)).exclude(Exists(Passkey.objects.filter(user=OuterRef("pk"))))
    open_accounts = without.filter(is_active=True).order_by("username")
    return [person for person in open_accounts if person.has_usable_password() and sign_in_settings.may_use(person)]


@transaction.atomic
def set_for(visitor: Visitor, group: Group, *, is_on: bool, ends_sessions: bool = False) -> list[User]:
    """Require a second factor of the members of a group, or stop requiring it. Recorded.

    ``ends_sessions``: end the sessions of members without one, so that they are asked at once. The sessions of the visitor and of people
    with more permissions than the visitor are not ended. Returns the people whose sessions were ended. Raises NotFoundError if the visitor
    may not change that group.
    """
    staff = account_managers.lock_for(person_of(visitor))
    if not administration.may_change_group(staff, group):
        raise NotFoundError
    if is_on == RequiredFactor.objects.filter(group=group).exists():
        return []
    if is_on:
        RequiredFactor.objects.get_or_create(group=group)
    else:
        RequiredFactor.objects.filter(group=group).delete()
    words = "needs a second factor now" if is_on else "needs no second factor any more"
    record("group changed", visitor, f"group {group.name}", detail=words)
    if not is_on:
        # Recorded as when a factor is removed: the visitor could now sign in to a member's account with the password alone.
        four_eyes.record_group_change(visitor.user, group)
        four_eyes.record_change(visitor.user, group.user_set.values_list("pk", flat=True), f"group changed: {words}")
    exempt = {staff, *administration.people_with_more_permissions(staff)}
    ended = [person for person in members_without_factor(group) if person not in exempt] if is_on and ends_sessions else []
    for person in ended:
        sessions.end_all_of(visitor, person)
    return ended


RECOVERY_CODES = 10
_guesses = GuessLimit("one-time code")


class WrongCodeError(Exception):
    """The code is wrong, or was used before."""


@dataclass(frozen=True, slots=True)
class SecondFactorStatus:
    """The status of a person's second factor."""

    is_on: bool
    has_app: bool
    """Whether one-time codes are set up."""
    is_required: bool
    codes_left: int
    """How many recovery codes are unused."""


def status_of(person: User) -> SecondFactorStatus:
    return SecondFactorStatus(is_on(person), has_app(person), is_required(person), RecoveryCode.objects.filter(user=person).count())


def is_on(person: User) -> bool:
    """Whether this person must enter a code or use a passkey after their password."""
    return has_app(person) or has_passkeys(person)


def has_app(person: User) -> bool:
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
        sign_in_notices.notify(person, "codes-set-up")
        return _create_codes(person)


def check(visitor: Visitor, person: User, code: str) -> None:
    """Check a code of the app or a recovery code, and use it up. Raises as ``confirm``."""
    plain = "".join(code.split()).replace("-", "").lower()
    if plain.isdigit() and len(plain) == DIGITS:
        row = SecondFactor.objects.filter(user=person).exclude(confirmed_at=None).first()
        if row is None:
            raise WrongCodeError
        _check_app(visitor, row, plain)
        return
    guess = admit(visitor, person)
    with transaction.atomic():
        # Deleting the row uses up the code: of two simultaneous requests, only one succeeds.
        if not RecoveryCode.objects.filter(user=person, digest=digest_of(plain)).delete()[0]:
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
    sign_in_notices.notify(person, "recovery-codes")
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
        if is_required(person):
            raise NotFoundError
        remove(visitor, person)
    elif SecondFactor.objects.filter(user=person).exclude(confirmed_at=None).delete()[0]:
        record("one-time codes switched off", visitor, person.get_username())
        sign_in_notices.notify(person, "codes-off")


@transaction.atomic
def remove(visitor: Visitor, person: User) -> None:
    """Remove all factors: one-time codes, recovery codes and passkeys. Recorded if any was on."""
    was_on = is_on(person)
    SecondFactor.objects.filter(user=person).delete()
    Passkey.objects.filter(user=person).delete()
    RecoveryCode.objects.filter(user=person).delete()
    if was_on:
        record("second factor removed", visitor, person.get_username())
        sign_in_notices.notify(person, "factor-removed")
        four_eyes.record_change(visitor.user, [person.pk], "second factor removed")


def admit(visitor: Visitor, person: User) -> Guess:
    """Count an attempt at the second step, with any kind of factor. Raises MustWaitError.

    As in the first step, attempts from a browser or address that the person has signed in from are counted separately: a stranger who has
    the password must not be able to keep its owner out.
    """
    return _guesses.admit(str(person.pk), known=sign_in.known_origin(person, visitor))


def _check_app(visitor: Visitor, row: SecondFactor, code: str) -> None:
    guess = admit(visitor, row.user)
    step = one_time_codes.step_of(_secret(row), "".join(code.split()))
    # The condition is in the statement: of two simultaneous requests with one code, only one succeeds.
    if step is None or not SecondFactor.objects.filter(pk=row.pk, last_step__lt=step).update(last_step=step):
        raise WrongCodeError
    guess.succeeded()


def _secret(row: SecondFactor) -> bytes:
    return hmac.new(settings.SECRET_KEY.encode(), b"chatui.second_factor " + row.pk.bytes, hashlib.sha256).digest()[:20]


def _create_codes(person: User) -> list[str]:
    codes = [secret_texts.readable(5, groups=3) for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.filter(user=person).delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(user=person, digest=digest_of(code.replace("-", ""))) for code in codes)
    return codes
