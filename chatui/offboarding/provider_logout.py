"""Signs a person out when their provider has signed them out, and closes the account if the operator's file says so."""

from __future__ import annotations

import contextlib

from chatui.accounts import session_list
from chatui.accounts.sign_in_rules.provider import Provider
from chatui.accounts.single_sign_on.logout_tokens import ProviderLogout
from chatui.audit_log.record import Visitor, record
from chatui.delivery import groups
from chatui.delivery.bus import send_from_thread
from chatui.models import OutsideIdentity, User
from chatui.models.accounts.closed_account import Cause
from chatui.offboarding import closing
from chatui.turns.temporary import visits

SIGNED_OUT = "signed out by provider"


def sign_out(visitor: Visitor, provider: Provider, logged_out: ProviderLogout) -> int:
    """End the sessions that began with this provider. Returns how many. Recorded for each person. ``visitor``: not signed in, with the
    provider's address. If nobody matches, that is no error, so that the provider cannot tell.
    """
    person = _person(provider, logged_out.subject)
    if logged_out.subject and person is None:
        return 0
    ended = session_list.end_provider_sessions(provider.key, person, logged_out.session)
    for whose, count in ended.items():
        record(SIGNED_OUT, visitor, whose.get_username(), detail=f"{count} sessions, says {provider.key}")
        visits.sign_out(whose)
        send_from_thread(groups.person(whose.pk), {"type": "session.check"})
    # A logout of one session is an ordinary sign-out; without a session id, it ends all of the person's sessions at the provider.
    if provider.logout_closes and person is not None and not logged_out.session:
        with contextlib.suppress(closing.CannotCloseError):
            closing.close_account(person, Cause.LOGOUT, visitor, source=provider.key)
    return sum(ended.values())


def _person(provider: Provider, subject: str) -> User | None:
    found = OutsideIdentity.objects.filter(issuer=provider.issuer, subject=subject).select_related("user").first() if subject else None
    return found.user if found else None
