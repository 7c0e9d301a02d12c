"""Closes and reopens accounts, for staff, the operator, directories, sign-in services and people themselves."""

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

_PROTECTED = "no directory or sign-in service may close this account"


class CannotCloseError(Exception):
    """The account must stay open. ``why`` is a fixed text; ``name`` and ``detail`` are for the audit log."""

    def __init__(self, why: str, name: str, detail: str) -> None:
        super().__init__(why)
        self.why, self.name, self.detail = why, name, detail


def close_account(person: User, cause: Cause, by: Visitor, *, source: str = "") -> bool:
    """Close an account, and end all of its access and running answers. Recorded. Returns whether that changed anything.

    Its data is kept until ``erasure.closed_accounts`` transfers or erases it, as the operator's settings say. ``source``: the key of the
    provider that requested this.

    Raises:
        CannotCloseError: it is the last account manager, or no provider or directory may close it. The refusal is recorded.
        NotFoundError: a member of staff requested it who may not change the account.
    """
    try:
        with transaction.atomic():
            is_new = _close(person, cause, by, source)
    except CannotCloseError as error:
        record(REFUSED, by, error.name, detail=error.detail)
        raise
    return is_new


def close_by_staff(person: User, by: Visitor) -> bool:
    """``close_account`` for a member of staff. Raises the same errors."""
    return close_account(person, Cause.STAFF, by)


def reopen_account(person: User, by: Visitor) -> bool:
    """Reopen a closed account. Recorded. Returns whether it was reopened: not if it was open, or is being erased.

    Sessions, keys and invitations that have ended are not restored. Raises NotFoundError if ``by`` may not change the account.
    """
    with transaction.atomic():
        _check_permission(person, by)
        locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if ClosedAccount.objects.filter(user=locked, is_going=True).exists():
            return False
        person.is_active = True
        ClosedAccount.objects.filter(user=locked).delete()
        if locked.is_active:
            return False
        record(REOPENED, by, locked.get_username())
        four_eyes.record_change(by.user, [locked.pk], REOPENED)
        locked.is_active = True
        locked.save(update_fields=["is_active"])
    return True


def closed_by(person: User) -> tuple[Cause, str] | None:
    """Why an account is closed, and the key of the provider that requested it; None if it is open, or no reason was stored."""
    row = ClosedAccount.objects.filter(user=person).first()
    return (Cause(row.cause), row.source) if row else None


def _check_permission(person: User, by: Visitor) -> None:
    """Check permissions after locking the account: the visitor may have lost permissions since, or the account may have gained some.

    The operator, directories and sign-in services have no account and need no permission.
    """
    if by.user is not None and by.user != person:
        account_actions.locked(by, person.pk)


def _close(person: User, cause: Cause, by: Visitor, source: str) -> bool:
    if cause is Cause.STAFF:
        _check_permission(person, by)
    if why := _why_not_closable(person, cause):
        raise CannotCloseError(why, person.get_username(), f"{_cause_text(cause, source)}: {why}")
    locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    defaults = {"cause": cause, "source": source, "by_name": by.user.get_username() if by.user and by.user != locked else ""}
    row, is_new = ClosedAccount.objects.get_or_create(user=locked, defaults=defaults)
    before = "" if is_new else f", before: {_cause_text(Cause(row.cause), row.source)}"
    # The first closing remains recorded: a directory that closes the account again does not replace an admin's decision. But an admin's
    # decision replaces a directory's, because otherwise the directory could reopen the account.
    if not is_new and cause in (Cause.STAFF, Cause.OPERATOR) and Cause(row.cause).is_from_outside:
        is_new = bool(ClosedAccount.objects.filter(pk=row.pk).update(**defaults))
    if is_new:
        record(CLOSED, by, locked.get_username(), detail=f"{_cause_text(cause, source)}{before}")
        four_eyes.record_change(by.user, [locked.pk], CLOSED)
    locked.is_active = person.is_active = False
    locked.save(update_fields=["is_active"])
    access_removal.end_access(locked, by)
    # Sent after the commit: a socket that checks earlier would still find an open account.
    transaction.on_commit(partial(access_removal.end_running_work, locked))
    return is_new


def _why_not_closable(person: User, cause: Cause) -> str:
    if cause is Cause.OPERATOR:
        return ""
    if cause.is_from_outside and (person.is_superuser or password_use.is_emergency(person.get_username())):
        return _PROTECTED
    return account_managers.REASON if account_managers.is_last(person) else ""


def _cause_text(cause: Cause, source: str) -> str:
    texts = {
        Cause.STAFF: "by staff",
        Cause.OPERATOR: "by the operator",
        Cause.OWN: "by the account's owner",
        Cause.PROVISIONING: f"says the directory of {source}",
        Cause.LOGOUT: f"says {source}",
    }
    return texts[cause]
