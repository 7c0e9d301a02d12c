"""Closes and reopens accounts: the single implementation for staff, operator, directories, sign-in services and people themselves."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from chatui.accounts.people import account_actions
from chatui.accounts.sign_in_rules import account_managers, password_use
from chatui.audit_log.record import Visitor, record
from chatui.models import ClosedAccount, User
from chatui.models.accounts.closed_account import Cause
from chatui.offboarding import access_removal
from chatui.permissions import four_eyes

CLOSED, REOPENED, REFUSED = "account closed", "account reopened", "account not closed"

_APART = "this account is out of reach from outside"


class KeptOpenError(Exception):
    """The account must stay open. ``why`` is a fixed text; ``name`` and ``told`` are for the log."""

    def __init__(self, why: str, name: str, told: str) -> None:
        super().__init__(why)
        self.why, self.name, self.told = why, name, told


def close_account(person: User, cause: Cause, by: Visitor, *, source: str = "") -> bool:
    """Close an account: all access ends, and nothing runs for it any more. Recorded. Returns whether that changed anything.

    Its data stays until ``due`` erases or transfers it, according to the operator's settings. ``source``: the key of the provider that
    requested this.

    Raises:
        KeptOpenError: it is the last account manager, or one that no provider or directory may close. Recorded as well. NotFoundError: a
        member of staff requested it who may not change the account.
    """
    try:
        with transaction.atomic():
            is_new = _close(person, cause, by, source)
    except KeptOpenError as error:
        record(REFUSED, by, error.name, detail=error.told)
        raise
    return is_new


def close_by_staff(person: User, by: Visitor) -> bool:
    """``close_account`` for a member of staff. Raises as that, and NotFoundError if they may not change that account."""
    return close_account(person, Cause.STAFF, by)


def reopen_account(person: User, by: Visitor) -> bool:
    """Open a closed account again. Recorded. Returns whether it was closed; one that is being erased stays closed.

    Sessions, keys and invitations that have ended stay ended. Raises NotFoundError if ``by`` is a person who may not change that account.
    """
    with transaction.atomic():
        _ask_rights(person, by)
        held = User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if ClosedAccount.objects.filter(user=held, is_going=True).exists():
            return False
        person.is_active = True
        ClosedAccount.objects.filter(user=held).delete()
        if held.is_active:
            return False
        record(REOPENED, by, held.get_username())
        four_eyes.record_change(by.user, [held.pk], REOPENED)
        held.is_active = True
        held.save(update_fields=["is_active"])
    return True


def closed_by(person: User) -> tuple[Cause, str] | None:
    """Why an account is closed, and which provider requested it; None if it is open, or was closed before reasons were stored."""
    row = ClosedAccount.objects.filter(user=person).first()
    return (Cause(row.cause), row.source) if row else None


def _ask_rights(person: User, by: Visitor) -> None:
    """Check permissions with the account locked: the person may have lost theirs, or the account may have gained more.

    The operator, directories and sign-in services have no account and need no permission.
    """
    if by.user is not None and by.user != person:
        account_actions.locked(by, person.pk)


def _close(person: User, cause: Cause, by: Visitor, source: str) -> bool:
    if cause is Cause.STAFF:
        _ask_rights(person, by)
    if why := _why_kept(person, cause):
        raise KeptOpenError(why, person.get_username(), f"{_words(cause, source)}: {why}")
    held = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    defaults = {"cause": cause, "source": source, "by_name": by.user.get_username() if by.user and by.user != held else ""}
    row, is_new = ClosedAccount.objects.get_or_create(user=held, defaults=defaults)
    before = "" if is_new else f", before: {_words(Cause(row.cause), row.source)}"
    # The first to close an account stays recorded: a directory that closes it again does not replace an admin's decision. An admin does
    # replace a directory's, or the directory could reopen it.
    if not is_new and cause in (Cause.STAFF, Cause.OPERATOR) and Cause(row.cause).is_from_outside:
        is_new = bool(ClosedAccount.objects.filter(pk=row.pk).update(**defaults))
    if is_new:
        record(CLOSED, by, held.get_username(), detail=f"{_words(cause, source)}{before}")
        four_eyes.record_change(by.user, [held.pk], CLOSED)
    held.is_active = person.is_active = False
    held.save(update_fields=["is_active"])
    access_removal.end_rights(held, by)
    # Notified after the commit: a socket that checked earlier would still find an open account.
    transaction.on_commit(partial(access_removal.end_what_runs, held))
    return is_new


def _why_kept(person: User, cause: Cause) -> str:
    if cause is Cause.OPERATOR:
        return ""
    if cause.is_from_outside and (person.is_superuser or password_use.is_emergency(person.get_username())):
        return _APART
    return account_managers.REASON if account_managers.is_last(person) else ""


def _words(cause: Cause, source: str) -> str:
    words = {
        Cause.STAFF: "by staff",
        Cause.OPERATOR: "by the operator",
        Cause.OWN: "by the person",
        Cause.PROVISIONING: f"says the directory of {source}",
        Cause.LOGOUT: f"says {source}",
    }
    return words[cause]
