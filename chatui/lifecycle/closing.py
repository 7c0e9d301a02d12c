"""Closes and reopens accounts, for staff, the operator, directories, sign-in services and people themselves.

Closing an account ends all of its access; each step of that can safely be repeated. A person whose provider has signed them out is signed
out here, and their account is closed if the operator's file says so.
"""

from __future__ import annotations

import contextlib
from functools import partial

from django.db import transaction
from django.utils import timezone

from chatui.accounts import account_managers, api_keys, people, provider_groups, sessions, sign_in_settings
from chatui.accounts.openid import NotListedError
from chatui.accounts.provider_logout import ProviderLogout
from chatui.accounts.sign_in_settings import Provider
from chatui.audit_log.record import SHELL, Visitor, record
from chatui.database import connections
from chatui.models.invitations import Invitation
from chatui.models.sign_in import OutsideIdentity, PasswordLink
from chatui.models.tool_sign_in import ToolSignIn
from chatui.models.turn import Turn, TurnState
from chatui.models.user import ClosedAccount, ClosingCause, User
from chatui.permissions import debug_requests, four_eyes
from chatui.permissions.access import person_of
from chatui.program import command
from chatui.turns import running, temporary
from chatui.wire import bus
from chatui.wire.bus import send_from_thread


def end_access(person: User, by: Visitor) -> None:
    """End all access: sessions, keys, invitations, password links, accounts at tool servers and open debug views. Share links need no step:
    they do not work while their creator's account is closed.
    """
    with transaction.atomic():
        sessions.end_all(person)
        api_keys.revoke_all(by, person, api_keys.REVOKED_WITH_ACCOUNT)
        Invitation.objects.filter(made_by=person, used_at=None, revoked_at=None).update(revoked_at=timezone.now())
        PasswordLink.objects.filter(user=person, used_at=None, expires_at__gt=connections.now()).update(expires_at=connections.now())
        _end_tool_accounts(person, by)
        debug_requests.close_all_of(person)


def _end_tool_accounts(person: User, by: Visitor) -> None:
    """Revoke the sign-ins at tool servers, at their services as well: in the background, but a command waits, as it is about to end."""
    if ToolSignIn.objects.filter(person=person).exists():
        from chatui.tools import tool_accounts  # takes 2 MB, and most installations have no tool servers

        tool_accounts.end_all(person.pk, waits=by.via == SHELL.via)


def end_running_work(person: User) -> None:
    """Close sockets, and stop answers and their waiting tool calls. Best effort: both also check the account within a minute."""
    send_from_thread(bus.person(person.pk), {"type": "session.check"})
    turns = Turn.objects.filter(asked_by=person, state=TurnState.RUNNING)
    for key, process in list(turns.values_list("pk", "lease_owner")):
        running.stop_from_thread(running.TurnPlace(key, process))


CLOSED, REOPENED, REFUSED = "account closed", "account reopened", "account not closed"

HEIR = f"it is the heir of closed accounts: choose another one first ({command('purge --heir')})"
_PROTECTED = "no directory or sign-in service may close this account"


class CannotCloseError(Exception):
    """The account must stay open. ``why`` is a fixed text; ``name`` and ``detail`` are for the audit log."""

    def __init__(self, why: str, name: str, detail: str) -> None:
        super().__init__(why)
        self.why, self.name, self.detail = why, name, detail


def close_account(person: User, cause: ClosingCause, by: Visitor, *, source: str = "") -> bool:
    """Close an account, and end all of its access and running answers. Recorded. Returns whether that changed anything.

    Its data is kept until ``lifecycle.closed_accounts`` transfers or erases it, as the operator's settings say. ``source``: the key of the
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
    return close_account(person, ClosingCause.STAFF, by)


def reopen_account(person: User, by: Visitor) -> bool:
    """Reopen a closed account. Recorded. Returns whether it was reopened: not if it was open, or is being erased.

    Sessions, keys and invitations that have ended are not restored. Raises NotFoundError if ``by`` may not change the account.
    """
    with transaction.atomic():
        _check_permission(person, by)
        locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
        if ClosedAccount.objects.filter(user=locked, is_going=True).exists():
            return False  # it is being erased
        person.is_active = True  # also where it was open already, and the caller's row is an old one
        ClosedAccount.objects.filter(user=locked).delete()
        if locked.is_active:
            return False
        record(REOPENED, by, locked.get_username())
        four_eyes.record_change(by.user, [locked.pk], REOPENED)
        locked.is_active = True
        locked.save(update_fields=["is_active"])
    return True


def closed_by(person: User) -> tuple[ClosingCause, str] | None:
    """Why an account is closed, and the key of the provider that requested it; None if it is open, or no reason was stored."""
    row = ClosedAccount.objects.filter(user=person).first()
    return (ClosingCause(row.cause), row.source) if row else None


def _check_permission(person: User, by: Visitor) -> None:
    """Check permissions after locking the account: the visitor may have lost permissions since, or the account may have gained some.

    The operator, directories and sign-in services have no account and need no permission.
    """
    if by.user is not None and by.user != person:
        people.locked(by, person.pk)


def _close(person: User, cause: ClosingCause, by: Visitor, source: str) -> bool:
    """Close the account, and end all access to it. Returns whether that is recorded as a new closing: not if it was closed before, unless
    staff or the operator now close what a directory had closed."""
    if cause is ClosingCause.STAFF:
        _check_permission(person, by)
    if why := _why_not_closable(person, cause):
        raise CannotCloseError(why, person.get_username(), f"{_cause_text(cause, source)}: {why}")
    locked = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    defaults = {"cause": cause, "source": source, "by_name": by.user.get_username() if by.user and by.user != locked else ""}
    row, is_new = ClosedAccount.objects.get_or_create(user=locked, defaults=defaults)
    before = "" if is_new else f", before: {_cause_text(ClosingCause(row.cause), row.source)}"
    # The first closing remains recorded: a directory that closes the account again does not replace an admin's decision. But an admin's
    # decision replaces a directory's, because otherwise the directory could reopen the account.
    if not is_new and cause in (ClosingCause.STAFF, ClosingCause.OPERATOR) and ClosingCause(row.cause).is_from_outside:
        is_new = bool(ClosedAccount.objects.filter(pk=row.pk).update(**defaults))
    if is_new:
        record(CLOSED, by, locked.get_username(), detail=f"{_cause_text(cause, source)}{before}")
        four_eyes.record_change(by.user, [locked.pk], CLOSED)
    locked.is_active = person.is_active = False
    locked.save(update_fields=["is_active"])
    end_access(locked, by)
    # Sent after the commit: a socket that checks earlier would still find an open account.
    transaction.on_commit(partial(end_running_work, locked))
    return is_new


def _why_not_closable(person: User, cause: ClosingCause) -> str:
    if User.objects.filter(pk=person.pk, is_heir=True).exists():
        return HEIR
    if cause is ClosingCause.OPERATOR:
        return ""
    if cause.is_from_outside and not sign_in_settings.may_use_provider(person):
        return _PROTECTED
    return account_managers.REASON if account_managers.is_last(person) else ""


def _cause_text(cause: ClosingCause, source: str) -> str:
    if cause is ClosingCause.PROVISIONING:
        return f"says the directory of {source}"
    return f"says {source}" if cause is ClosingCause.LOGOUT else str(cause.label)


def close_own(visitor: Visitor) -> None:
    """Close the visitor's own account. The caller must have verified their identity. Raises CannotCloseError like ``close_account``."""
    close_account(person_of(visitor), ClosingCause.OWN, visitor)


SIGNED_OUT, TURNED_AWAY = "signed out by provider", "not admitted any more"


def sign_out(visitor: Visitor, provider: Provider, logged_out: ProviderLogout) -> int:
    """End the sessions that began with this provider. Returns how many. Recorded for each person. ``visitor``: not signed in, with the
    provider's address. If nobody matches, that is no error, so that the provider cannot tell.
    """
    person = _person(provider, logged_out.subject)
    if logged_out.subject and person is None:
        return 0
    ended = sessions.end_provider_sessions(provider.issuer, provider.key, person, logged_out.session)
    for whose, count in ended.items():
        record(SIGNED_OUT, visitor, whose.get_username(), detail=f"{count} sessions, says {provider.key}")
        temporary.sign_out(whose)
        send_from_thread(bus.person(whose.pk), {"type": "session.check"})
    # A logout of one session is an ordinary sign-out; without a session id, it ends all of the person's sessions at the provider.
    if provider.logout_closes and person is not None and not logged_out.session:
        with contextlib.suppress(CannotCloseError):
            close_account(person, ClosingCause.LOGOUT, visitor, source=provider.key)
    return sum(ended.values())


def turn_away(visitor: Visitor, provider: Provider, subject: str, error: NotListedError) -> None:
    """Take back what this provider gave a person whom the operator does not admit any more: sessions, groups, and what programs and readers
    of share links may do for them. Recorded, with their name, which the error gets as well.

    Nothing is lost: at the next admitted sign-in the groups come back, and keys and links work again. Other ways to sign in stay, and so
    does everything of an account that no provider may open.
    """
    person = _person(provider, subject)
    if person is None or not person.is_active or not sign_in_settings.may_use_provider(person):
        return
    error.account = person.get_username()
    with transaction.atomic():
        ended = sum(sessions.end_provider_sessions(provider.issuer, provider.key, person, "").values())
        now = timezone.now()
        is_new = User.objects.filter(pk=person.pk, rests_since=None).update(rests_since=now)
        person.rests_since = person.rests_since or now
        has_lost = provider_groups.withdraw_groups(visitor, person, provider)
        if is_new or ended or has_lost:
            detail = f"by {provider.key}: {error.why}; {ended} sessions ended, keys and share links rest"
            record(TURNED_AWAY, visitor, person.get_username(), detail=detail)
    temporary.sign_out(person)
    send_from_thread(bus.person(person.pk), {"type": "session.check"})


def _person(provider: Provider, subject: str) -> User | None:
    found = OutsideIdentity.objects.filter(issuer=provider.issuer, subject=subject).select_related("user").first() if subject else None
    return found.user if found else None
