"""A person's accounts at tool servers, for their page: which there are, connecting and disconnecting them.

Of a sign-in the page shows the server's name and address, where the person signed in, and since when: never a token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.db import transaction

from chatui.audit_log.record import Visitor, record
from chatui.model_servers import connected
from chatui.models.user import User
from chatui.permissions.access import NotFoundError, person_of
from chatui.permissions.tools import connectable_servers
from chatui.tools import tool_accounts
from chatui.tools.remote.definition import McpSpec, OpenApiSpec
from chatui.tools.sign_in import kept
from chatui.tools.sign_in.door import SignInError
from chatui.tools.sign_in.flow import PendingToolSignIn

CONNECTED, DISCONNECTED, REFUSED = "tool server account connected", "tool server account disconnected", "tool server account not connected"


@dataclass(frozen=True, slots=True)
class ShownAccount:
    """A person's account at a tool server."""

    name: str
    host: str
    """The host of the tool server; empty if it is gone from the tools file."""
    at: str
    """The host of the service at which the person signed in; empty if they did not."""
    since: datetime | None
    """When they did; None if they did not."""
    is_offered: bool
    """Whether they may connect it."""


def of_person(person: User) -> list[ShownAccount]:
    """By name. At most two statements."""
    specs = tool_accounts.servers()
    offered = connectable_servers(person, is_demo=connected.is_demo())
    signed_in = {each.place: each for each in kept.of_person(person.pk)}
    shown = []
    for name, spec in specs.items():
        now = signed_in.pop(kept.place_of(spec), None)
        if now or name in offered:
            at, since = (_host(now.issuer), now.connected_at) if now else ("", None)
            shown.append(ShownAccount(name, _host(spec.url), at, since, name in offered))
    gone = (ShownAccount(each.name, "", _host(each.issuer), each.connected_at, is_offered=False) for each in signed_in.values())
    return sorted([*shown, *gone], key=lambda each: each.name)


def has_accounts(person: User) -> bool:
    return bool(of_person(person))


def begin(person: User, name: str, back: str, after: str) -> PendingToolSignIn:
    """A sign-in at the server of this name. Raises NotFoundError if there is none for this person, and SignInError."""
    return tool_accounts.begin(_server(person, name), person.pk, back, after)


def finish(visitor: Visitor, name: str, pending: PendingToolSignIn, answer: Mapping[str, str]) -> None:
    """Connect the account that the answer is about. Recorded. Raises as ``begin``."""
    person = person_of(visitor)
    spec = _server(person, name)
    tokens = tool_accounts.finish(spec, person.pk, pending, answer)
    with transaction.atomic():
        # Locked, so that a sign-in that ends while the account is being closed does not outlive it.
        if not User.objects.select_for_update(no_key=True).filter(pk=person.pk, is_active=True).exists():
            raise SignInError("the account was closed meanwhile")
        kept.store(person.pk, kept.place_of(spec), tokens)
        record(CONNECTED, visitor, detail=f"{name}, at {_host(tokens.issuer)}")


def refused(visitor: Visitor, name: str, why: str) -> None:
    """Record that an account was not connected. ``why``: a fixed text."""
    record(REFUSED, visitor, detail=f"{name}: {why}")


def disconnect(visitor: Visitor, name: str, *, waits: bool = False) -> bool:
    """Forget the sign-in at the server of this name, and revoke it there. Recorded. Returns whether there was one. ``waits``: as
    ``tool_accounts.end``."""
    with transaction.atomic():
        if not tool_accounts.end(person_of(visitor).pk, name, waits=waits):
            return False
        record(DISCONNECTED, visitor, detail=name)
    return True


def _server(person: User, name: str) -> McpSpec | OpenApiSpec:
    if name not in connectable_servers(person, is_demo=connected.is_demo()):
        raise NotFoundError
    return tool_accounts.servers()[name]


def _host(url: str) -> str:
    return urlsplit(url).netloc
