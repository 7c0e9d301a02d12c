"""Passkey challenges of a browser: each works once, for ten minutes, for one purpose and one person."""

from __future__ import annotations

import secrets
import time

from django.core.cache import cache
from django.http import HttpRequest

from chatui.accounts.second_factor.ceremonies import TIMEOUT_SECONDS
from chatui.throttle import CACHE_ERRORS

_SESSION_KEY = "passkey_challenges"
_MAX_TABS = 5


def give(request: HttpRequest, purpose: str, person: str = "") -> bytes:
    """A new challenge. ``person``: the id of the passkey's owner; empty if unknown yet."""
    challenge = secrets.token_bytes(32)
    stored = [each for each in request.session.get(_SESSION_KEY, []) if time.time() - each["at"] < TIMEOUT_SECONDS]
    new = {"is": challenge.hex(), "at": time.time(), "for": purpose, "person": person}
    request.session[_SESSION_KEY] = [*stored[1 - _MAX_TABS :], new]
    return challenge


def take(request: HttpRequest, purpose: str, person: str = "") -> list[bytes]:
    """The challenges given for this purpose. They are used up even if the attempt fails."""
    stored = request.session.pop(_SESSION_KEY, [])
    return [
        bytes.fromhex(each["is"])
        for each in stored
        if each["for"] == purpose and each["person"] == person and 0 <= time.time() - each["at"] < TIMEOUT_SECONDS and _is_first(each["is"])
    ]


def _is_first(challenge: str) -> bool:
    """Whether this is the first use: of two concurrent requests that read it from the same session, only one gets it."""
    try:
        return cache.add(f"chatui:passkey:{challenge}", 1, TIMEOUT_SECONDS)
    except CACHE_ERRORS:
        return False
