"""What all connections to other servers share: the name that the product gives, and the certificates that it trusts."""

from __future__ import annotations

import ssl
from functools import cache

import httpx

USER_AGENT = "chatui"


@cache
def tls(*, uses_environment: bool = False) -> ssl.SSLContext:
    """What connections of the product share: reading all certificates takes longer than most requests."""
    return httpx.create_ssl_context(trust_env=uses_environment)
