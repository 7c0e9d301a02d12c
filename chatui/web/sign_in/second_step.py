"""The step between password and code.

Who has entered the password is stored in a session that is not signed in yet.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare

from chatui.accounts import second_factor

if TYPE_CHECKING:
    from chatui.models.user import User


LASTS_SECONDS = 600
_SESSION_KEY = "second_step"


def is_due(person: User) -> bool:
    """Whether this person needs a second factor after the password."""
    return second_factor.is_on(person) or second_factor.is_required(person)


def begin(request: HttpRequest, person: User, after: str) -> HttpResponse:
    """After the correct password, redirect to the page for the code. ``after``: the path for afterwards."""
    request.session.cycle_key()  # nobody else may know the key of the session that stores this
    request.session[_SESSION_KEY] = {
        "person": str(person.pk),
        "at": time.time(),
        "after": after,
        # A digest of the password: changing it ends this step, as it ends sessions.
        "proof": person.get_session_auth_hash(),
        # When all sessions were last ended. Any other value ends this step, so clocks of different machines do not matter.
        "ended": _ended(person),
    }
    return redirect("sign_in_code")


def person_of(request: HttpRequest) -> User | None:
    """The person who has just entered their password in this browser.

    None if the account or password has changed, or all sessions were ended.
    """
    stored = request.session.get(_SESSION_KEY)
    if not stored or not 0 <= time.time() - stored["at"] < LASTS_SECONDS:
        return None
    person: User | None = get_user_model().objects.filter(pk=stored["person"], is_active=True).first()
    if person is None or stored.get("ended") != _ended(person):
        return None
    return person if constant_time_compare(person.get_session_auth_hash(), stored["proof"]) else None


def finish(request: HttpRequest) -> str:
    """End this step. Returns the path for afterwards."""
    stored = request.session.pop(_SESSION_KEY, None)
    return str(stored["after"]) if stored else ""


def _ended(person: User) -> str:
    return person.sessions_ended_at.isoformat() if person.sessions_ended_at else ""
