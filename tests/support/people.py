"""How people come to be connected: invitations, and who may count as one; the session of a browser; and a closed account."""

from django.contrib.auth.models import Group
from django.test import Client

from chatui.accounts import invitations, sessions
from chatui.accounts.sessions import SignedIn
from chatui.audit_log.record import SHELL, Visitor
from chatui.lifecycle import closing
from chatui.models.user import ClosingCause, User
from chatui.permissions import four_eyes


def invite(inviter: User, group: Group | None = None, days: int = 7) -> str:
    """Make an invitation. Returns its path, ``/invitation/ID/TOKEN/``."""
    return invitations.create(Visitor(inviter, "192.0.2.1", "shell"), days=days, group=group, note="")


def are_linked(one: User, other: User) -> bool:
    """Whether one of them may have power over the other's account, so that the two do not count as two people."""
    return four_eyes.are_linked(one, other)


def session_of(browser: Client) -> SignedIn | None:
    """The session in which this browser is signed in, as a page's socket keeps it; None if it is not."""
    return sessions.signed_in({name: cookie.value for name, cookie in browser.cookies.items()})


def close(person: User, cause: ClosingCause = ClosingCause.OPERATOR) -> bool:
    """Close the person's account at the console. Returns whether it was open."""
    return closing.close_account(person, cause, SHELL)
