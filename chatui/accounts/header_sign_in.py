"""Reads the signed-in person from a trusted proxy's header. Any unexpected header is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from django.conf import settings
from django.utils.crypto import constant_time_compare

from chatui.accounts import account_linking
from chatui.accounts.openid import SingleSignOnError
from chatui.accounts.provider_claims import PersonClaims
from chatui.accounts.sessions import SignedIn, signed_in
from chatui.accounts.sign_in_settings import HeaderRule, Provider, sign_in_file
from chatui.audit_log.record import Visitor
from chatui.models.user import User

SESSION_KEY = "by_header"
"""The session key that stores the name in the header that started the session, which is valid only while the header has the same name."""

Headers = Iterable[tuple[bytes, bytes]]
"""The raw headers, one pair for each line."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,149}")
_MAX_SECRET_BYTES = 1000


class ForgedHeaderError(SingleSignOnError):
    """The header was sent but must not be trusted."""

    status = 403


def rule() -> HeaderRule | None:
    """The operator's rule; None if headers sign nobody in."""
    return sign_in_file().header


def name_in(headers: Headers, peer: str) -> str | None:
    """The name that a trusted proxy passes on; None without such a header. ``peer``: the address at the other end of the connection.
    Raises ForgedHeaderError if the header comes from another peer, occurs twice, is not just a name, or lacks the secret."""
    header_rule = rule()
    if header_rule is None:
        return None
    found = list(headers)
    # Some proxies pass on "X_Remote_User" next to their own "X-Remote-User", and some servers treat both as one name.
    alike = [(name, value) for name, value in found if name.lower().replace(b"_", b"-") == header_rule.name.encode()]
    if not alike:
        return None
    if not header_rule.is_from_proxy(peer):
        raise ForgedHeaderError("the proxy's header did not come from a proxy")
    if len(alike) != 1 or b"_" in alike[0][0]:
        raise ForgedHeaderError("the proxy's header was sent twice, or with an underscore")
    if not _has_secret(header_rule, found):
        raise ForgedHeaderError("the proxy's header was sent without its secret")
    name = alike[0][1].decode("latin-1")
    # Two names can also arrive as one value with a comma, if a proxy joined them.
    if not _NAME.fullmatch(name):
        raise ForgedHeaderError("the proxy's header contains no valid name")
    return name


def find_or_create_account(visitor: Visitor, name: str) -> User:
    """The account for a name from the proxy, created at the first sign-in.

    Raises as in ``account_linking``; accounts are never found by user name.
    """
    header_rule = rule()
    provider = Provider.model_construct(
        key="header",
        name="header",
        issuer=f"header:{header_rule.name if header_rule else ''}",
        client_id="",
        sign_up=header_rule is not None and header_rule.sign_up,
    )
    return account_linking.find_or_create_account(visitor, provider, PersonClaims(name, name, "", None))


def session_of(scope: Mapping[str, Any]) -> SignedIn | None:
    """The session of a socket's handshake; None if the proxy's header names another person or is forged."""
    if rule() is not None:
        client = scope.get("client") or [""]
        try:
            name = name_in(scope.get("headers", []), str(client[0]))
        except ForgedHeaderError:
            return None
        key = scope["cookies"].get(settings.SESSION_COOKIE_NAME)
        began = import_module(settings.SESSION_ENGINE).SessionStore(key).get(SESSION_KEY) if key else None
        if began != name:
            return None
    return signed_in(scope["cookies"])


def _has_secret(header_rule: HeaderRule, headers: list[tuple[bytes, bytes]]) -> bool:
    try:
        expected = header_rule.expected_secret()
    except (OSError, UnicodeDecodeError):
        return False
    if not expected:
        # A rule without a secret accepts only proxies on this machine. An empty secret file is a mistake, so it refuses every header.
        return header_rule.secret_file is None
    sent = [value for name, value in headers if name.lower() == header_rule.secret_name.encode()]
    return len(sent) == 1 and len(sent[0]) <= _MAX_SECRET_BYTES and constant_time_compare(sent[0], expected.encode())
