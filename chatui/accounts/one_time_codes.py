"""One-time codes (RFC 6238): SHA-1, six digits and steps of 30 seconds, which every authenticator app supports."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from urllib.parse import quote, urlencode

from django.utils.crypto import constant_time_compare

STEP_SECONDS = 30
DIGITS = 6
ADJACENT_STEPS = 1
"""How many steps before and after the current one are accepted, because clocks differ and typing takes a while."""


def step_of(secret: bytes, code: str, now: float | None = None) -> int | None:
    """The step that a code belongs to; None for a wrong code."""
    present = int(time.time() if now is None else now) // STEP_SECONDS
    found = None
    for step in range(present - ADJACENT_STEPS, present + ADJACENT_STEPS + 1):
        if constant_time_compare(code_at(secret, step), code):
            found = step
    return found


def code_at(secret: bytes, step: int) -> str:
    """The code of one step (RFC 4226, section 5.3)."""
    digest = hmac.new(secret, step.to_bytes(8, "big"), hashlib.sha1).digest()
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def encoded_secret(secret: bytes) -> str:
    """The secret in the form that people type into an app."""
    return base64.b32encode(secret).decode().rstrip("=")


def otpauth_uri(secret: bytes, site: str, name: str) -> str:
    label = quote(f"{site}:{name}", safe="")
    return f"otpauth://totp/{label}?{urlencode({'secret': encoded_secret(secret), 'issuer': site})}"
