"""Ends all access of a closed account. Each step can safely be repeated."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from chatui.accounts import sessions
from chatui.accounts.api_keys import management
from chatui.audit_log.record import Visitor
from chatui.delivery import groups
from chatui.delivery.bus import send_from_thread
from chatui.models import BegunSession, Invitation, PasswordLink, Turn, User
from chatui.models.turn import TurnState
from chatui.permissions import debug_requests
from chatui.turns import running


def end_access(person: User, by: Visitor) -> None:
    """End all access: sessions, keys, invitations, password links and open debug views. Share links need no step: they do not work while
    their creator's account is closed.
    """
    now = timezone.now()
    with transaction.atomic():
        sessions.end_all(person)
        BegunSession.objects.filter(user=person).delete()
        management.revoke_with_account(by, person)
        Invitation.objects.filter(made_by=person, used_at=None, revoked_at=None).update(revoked_at=now)
        PasswordLink.objects.filter(user=person, used_at=None, expires_at__gt=now).update(expires_at=now)
        debug_requests.close_all_of(person)


def end_running_work(person: User) -> None:
    """Close sockets, and stop answers and their waiting tool calls. Best effort: both also check the account within a minute."""
    send_from_thread(groups.person(person.pk), {"type": "session.check"})
    turns = Turn.objects.filter(asked_by=person, state=TurnState.RUNNING)
    for key, process in list(turns.values_list("pk", "lease_owner")):
        running.stop_from_thread(running.Place(key, process))
