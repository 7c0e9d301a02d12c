"""Password sign-in: limits guesses, records sign-ins, refusals and sign-outs in the audit log, and checks the code for the first account.

That one-time code is printed on the console, stored as a hash, and deleted once used.
"""

from __future__ import annotations

import logging
import secrets
import time
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.utils import timezone

from chatui.accounts import secret_texts, sign_in_settings
from chatui.audit_log.record import Visitor
from chatui.audit_log.repeated_action import RepeatedAction
from chatui.database.connections import release_request_connection
from chatui.guesses import Guess, GuessLimit, MustWaitError, address_group, checks
from chatui.models.audit import AuditEvent
from chatui.models.user import FirstAccountCode, User
from chatui.observability import measures
from chatui.permissions import administration
from chatui.skeletons import folded

log = logging.getLogger(__name__)

DEVICE_COOKIE = "__Host-device" if settings.SESSION_COOKIE_SECURE else "chatui_device"
DEVICE_SECONDS = 365 * 24 * 3600
KNOWN_ADDRESS_AGE = timedelta(days=30)
"""How long an address counts as one that a person has signed in from."""

SIGNED_IN, SIGNED_OUT, REFUSED, PASSWORD_REFUSED = "sign in", "sign out", "sign-in refused", "password change refused"

PLACE_COOKIE = "__Host-place" if settings.SESSION_COOKIE_SECURE else "chatui_place"
"""What a browser comes back with that was told to wait."""
SILENT_SECONDS = 2.0
"""How long it takes to say that somebody has to wait again, whether or not there was something to compare."""

_SALT = "chatui.device"
_MAX_SIGN_INS = 200
_passwords = GuessLimit("password")
_old_passwords = GuessLimit("old password")
_own_actions = {action: RepeatedAction(action, per_key=20, total=5000) for action in (SIGNED_IN, SIGNED_OUT)}
_refusals = {action: RepeatedAction(action, per_key=10, total=500) for action in (REFUSED, PASSWORD_REFUSED)}


def person_with(visitor: Visitor, name: str, password: str, place: str) -> User | None:
    """The person whose name and password these are; None if there is none who may sign in with them. Counted, and a refusal is recorded.

    ``place``: what the browser got when it was told to wait. Raises MustWaitError if no guess is checked for now, whether or not the
    account exists.
    """
    started, person = time.monotonic(), _account_named(name)
    known = _known_browser(person, visitor) if person else ""
    try:
        guess = _passwords.admit_stranger(visitor.address, folded(name), known=known, place=place, exists=person is not None)
        is_right = _is_right(guess, person, password)
    except MustWaitError:
        record_refused(visitor, name, waits=True)
        raise
    # Whoever may not use a password gets the same answer as for a wrong one: it must not reveal who may.
    if person is not None and is_right and person.is_active and sign_in_settings.may_use(person):
        guess.succeeded()
        return person
    record_refused(visitor, name, waits=False)
    if guess.is_silent:
        release_request_connection()
        time.sleep(max(0.0, started + SILENT_SECONDS - time.monotonic()))
    guess.failed()
    return None


def _is_right(guess: Guess, person: User | None, password: str) -> bool:
    """Whether it is this person's password. Takes as long if there is no such person. Raises MustWaitError."""
    if guess.is_decoy:
        return False
    # It takes a good part of a second, and may have to wait for many others: nobody else should have to wait for its connection.
    release_request_connection()
    try:
        with checks.turn():
            guess.recheck()
            if person is None:
                User().set_password(password)
                return False
            return person.check_password(password)
    except MustWaitError:
        guess.succeeded()
        raise


def is_old_password(visitor: Visitor, password: str) -> bool:
    """Whether this is the password of somebody who is signed in. Counted and recorded: whoever finds an open session must not be able to
    guess it. Raises MustWaitError as ``admit``."""
    person, key = visitor.user, _key_of(visitor.user)
    try:
        guess = _old_passwords.admit(key)
        is_right = _is_right(guess, person, password)
    except MustWaitError:
        _refusals[PASSWORD_REFUSED].record(visitor, key, None, "had to wait")
        raise
    if not is_right:
        _refusals[PASSWORD_REFUSED].record(visitor, key, None, "wrong old password")
        return False
    guess.succeeded()
    return True


def browser_of(visitor: Visitor) -> str:
    """The key under which guesses from this browser are counted, apart from strangers at its address; empty for an unknown one."""
    _, number = _device(visitor.device)
    return f"device:{number}" if number else ""


def new_device(person: User) -> str:
    """A new DEVICE_COOKIE for a browser in which this person has just signed in. It grants nothing: it only separates their guesses."""
    return signing.dumps([str(person.pk), secrets.token_urlsafe(12)], salt=_SALT, compress=False)


def record_signed_in(visitor: Visitor, detail: str = "") -> None:
    """Record a sign-in, before the session begins.

    ``detail``: the method, if not a password. Raises a database error if the line cannot be written.
    """
    _own_actions[SIGNED_IN].record(visitor, _key_of(visitor.user), None, detail)
    _log_outcome("signed in", visitor, visitor.user)


def record_signed_out(visitor: Visitor) -> None:
    """Record a sign-out, after the session has ended."""
    _own_actions[SIGNED_OUT].record(visitor, _key_of(visitor.user))


def record_refused(visitor: Visitor, name: str, *, waits: bool) -> None:
    """Record a sign-in with a wrong name or password, or one that was not checked because of the limit (``waits``).

    The name is recorded only if an account has it: people type their password into the wrong field.
    """
    person = _account_named(name)
    detail = "had to wait" if waits else "wrong password" if person else "no such account"
    record_way_refused(visitor, person, detail)


def record_way_refused(visitor: Visitor, person: User | None, detail: str, outcome: str = "") -> None:
    """Record a refused sign-in. ``person``: whose account it was, if known. ``detail``: the reason, as a fixed text. ``outcome``: the same
    for the measures, if they do not count every reason."""
    key = _key_of(person) or address_group(visitor.address)
    _refusals[REFUSED].record(visitor.as_nobody(), key, person.get_username() if person else None, detail)
    _log_outcome(outcome or detail, visitor, person)


def _key_of(person: User | None) -> str:
    return str(person.pk) if person else ""


def _log_outcome(outcome: str, visitor: Visitor, person: User | None) -> None:
    """Log the outcome for system administrators, with the id of the account but neither its name nor an address."""
    measures.SIGN_INS.labels(outcome).inc()
    log.info("sign-in", extra={"outcome": outcome, "way": visitor.via, "person": _key_of(person)})


def record_provider_sign_in_refused(visitor: Visitor, detail: str, account: str = "") -> None:
    """Record a failed sign-in with a provider.

    ``detail``: the provider's key, and the reason as a fixed text. ``account``: the name of the account, if the provider said whose it is.
    """
    _refusals[REFUSED].record(visitor.as_nobody(), account or address_group(visitor.address), account or None, detail)
    _log_outcome("refused by a provider or a proxy", visitor, None)


def _account_named(name: str) -> User | None:
    # As Django's own backend looks it up, without checking the password.
    found: User | None = User.objects.filter(username=name).first()
    return found


def _known_browser(person: User, visitor: Visitor) -> str:
    """The key of the browser, if this person has signed in with it before; else empty."""
    owner, number = _device(visitor.device)
    return f"device:{number}" if owner == str(person.pk) else ""


def known_origin(person: User, visitor: Visitor) -> str:
    """The key of the browser, or else of the address, if this person has signed in from it before; empty if neither is known.

    Only for somebody who has given the password. Before that, an address would tell whose account was used there, and everybody at it would
    have an allowance at each of these accounts.
    """
    if browser := _known_browser(person, visitor):
        return browser
    place = address_group(visitor.address)
    sign_ins = AuditEvent.objects.filter(actor=person, code="", at__gte=timezone.now() - KNOWN_ADDRESS_AGE, action=SIGNED_IN)
    seen = sign_ins.order_by("-at").values_list("address", flat=True)[:_MAX_SIGN_INS]
    return f"place:{place}" if place in {address_group(each) for each in seen} else ""


def _device(device: str) -> tuple[str, str]:
    """The person who signed in with the browser of that cookie, and the browser's number; both empty if the cookie is not ours."""
    try:
        owner, number = signing.loads(device, salt=_SALT, max_age=DEVICE_SECONDS)
    except (signing.BadSignature, ValueError, TypeError):
        return "", ""
    return str(owner), str(number)


def is_needed() -> bool:
    """Whether nobody has an account yet."""
    return not User.objects.exists()


def new_code() -> str | None:
    """A new code to print, such as ``7KQM-2XWP-…``; None if there is already an account."""
    if not is_needed():
        return None
    code = secret_texts.readable(4, groups=5).upper()
    FirstAccountCode.objects.create(digest=_digest(code))
    return code


def is_valid_code(code: str) -> bool:
    """Whether this code was printed by a server and is unused."""
    return FirstAccountCode.objects.filter(digest=_digest(code)).exists()


@transaction.atomic
def create(username: str, password: str) -> User | None:
    """Create the first account, as staff with every permission of the product, and delete all codes. None if another request was faster."""
    # Reading the codes locks them: of two people with a valid code, only one gets the account.
    taken = list(FirstAccountCode.objects.select_for_update())
    if not taken or not is_needed():
        return None
    FirstAccountCode.objects.all().delete()
    person: User = User.objects.create_user(username, password=password, is_staff=True)
    person.user_permissions.set(administration.named(administration.DESCRIPTIONS))
    return person


def _digest(code: str) -> str:
    return secret_texts.digest_of("".join(filter(str.isalnum, code.upper())))
