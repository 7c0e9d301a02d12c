"""The rows of sign-ins at tool servers, and of the clients that registered themselves. Everything here is called in a database thread.

What is in a row is sealed for its person and its server, so that a row that was moved to another person opens to nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F, Q

from chatui import sealing
from chatui.database import connections
from chatui.models.tool_sign_in import ToolClient, ToolSignIn
from chatui.tools.remote.definition import McpSpec, OpenApiSpec
from chatui.tools.sign_in.discovery import scopes_of
from chatui.tools.sign_in.flow import Client, Tokens

RENEWAL_SECONDS = 60.0
"""How long a process may take to renew a token, with storing it. It asks for less; another tries only after a crash."""


def place_of(spec: McpSpec | OpenApiSpec) -> str:
    """The server in the rows: its name and a digest of its address, since another server of the same name must not get the tokens."""
    return f"{spec.name} {hashlib.sha256(spec.url.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class KeptSignIn:
    """A person's sign-in. ``renewal``: how often it was renewed."""

    key: UUID
    tokens: Tokens = field(repr=False)
    renewal: int


def load(person_id: UUID, place: str) -> KeptSignIn | None:
    """None also for what this server's keys cannot open."""
    row = ToolSignIn.objects.filter(person=person_id, server=place).first()
    return None if row is None else _opened(row)


def _opened(row: ToolSignIn) -> KeptSignIn | None:
    content = sealing.unseal(row.content, _bound(row.person_id, row.server))
    return None if content is None else KeptSignIn(row.pk, Tokens.load(json.loads(content)), row.renewal)


def _bound(person_id: UUID, place: str) -> bytes:
    return b"tool sign-in\0" + person_id.bytes + place.encode()


def _sealed(tokens: Tokens, person_id: UUID, place: str) -> str:
    return sealing.seal(json.dumps(tokens.dump()).encode(), _bound(person_id, place))


def store(person_id: UUID, place: str, tokens: Tokens) -> None:
    """A new sign-in, in place of any earlier one: whoever renews that one finds its row gone. Call it in a transaction."""
    ToolSignIn.objects.filter(person=person_id, server=place).delete()
    content = _sealed(tokens, person_id, place)
    ToolSignIn.objects.create(person_id=person_id, server=place, issuer=tokens.issuer, content=content)


def begin_renewal(key: UUID, renewal: int, by: UUID) -> bool:
    """Whether the caller alone may renew it now. False if another process does so, or did, or it is gone."""
    is_free = Q(renewing_until=None) | Q(renewing_until__lt=connections.now()) | Q(renewed_by=by)
    rows = ToolSignIn.objects.filter(is_free, pk=key, renewal=renewal)
    return bool(rows.update(renewing_until=connections.after(timedelta(seconds=RENEWAL_SECONDS)), renewed_by=by))


def end_renewal(key: UUID, by: UUID, tokens: Tokens | None) -> bool:
    """Store what renewing gave (None: nothing, but it may be tried again). False if the row is gone or no longer the caller's to write."""
    rows = ToolSignIn.objects.filter(pk=key, renewed_by=by)
    person = rows.values_list("person_id", "server").first()
    if person is None:
        return False
    if tokens is None:
        return bool(rows.update(renewing_until=None))
    content = _sealed(tokens, *person)
    # It stays the caller's, so that this may run twice: nobody knows whether a failed COMMIT took effect.
    return bool(rows.update(content=content, renewal=F("renewal") + 1, renewing_until=None))


def drop(person_id: UUID, place: str, *, key: UUID | None = None) -> Tokens | None:
    """Delete a sign-in. Returns its tokens, to be revoked. ``key``: only if it is still this one."""
    rows = ToolSignIn.objects.filter(person=person_id, server=place, **({} if key is None else {"pk": key}))
    row = rows.first()
    if row is None:
        return None
    found = _opened(row)
    rows.filter(pk=row.pk).delete()
    return found.tokens if found else None


def drop_all(person_id: UUID) -> list[tuple[str, Tokens]]:
    """Delete all sign-ins of a person. Returns the server and the tokens of each."""
    rows = ToolSignIn.objects.filter(person=person_id)
    found = [(row.server, opened.tokens) for row in rows if (opened := _opened(row)) is not None]
    rows.delete()
    return found


def want(person_id: UUID, place: str, scopes: Iterable[str]) -> None:
    """Remember scopes that a call lacked."""
    rows = ToolSignIn.objects.filter(person=person_id, server=place)
    for before in rows.values_list("wanted", flat=True):
        rows.update(wanted=" ".join(scopes_of(f"{before} {' '.join(scopes)}")))


def wanted(person_id: UUID, place: str) -> tuple[str, ...]:
    return scopes_of(ToolSignIn.objects.filter(person=person_id, server=place).values_list("wanted", flat=True).first())


@dataclass(frozen=True, slots=True)
class OwnToolSignIn:
    """A sign-in as its person may see it: no token is in it."""

    place: str
    issuer: str
    connected_at: datetime

    @property
    def name(self) -> str:
        return self.place.partition(" ")[0]


def of_person(person_id: UUID) -> list[OwnToolSignIn]:
    """The tool servers at which a person has signed in. One statement."""
    rows = ToolSignIn.objects.filter(person=person_id).order_by("server")
    return [OwnToolSignIn(*values) for values in rows.values_list("server", "issuer", "connected_at")]


def client_of(place: str, issuer: str, back: str) -> Client | None:
    """The client that was registered for this server; None if there is none, or it has expired, or comes back to another address."""
    row = ToolClient.objects.filter(server=place, issuer=issuer, back=back).first()
    content = sealing.unseal(row.content, _bound_client(place, issuer)) if row else None
    client = Client(**json.loads(content)) if content else None
    return client if client is not None and client.is_valid else None


def keep_client(place: str, issuer: str, back: str, client: Client) -> None:
    values = {"back": back, "content": sealing.seal(json.dumps(asdict(client)).encode(), _bound_client(place, issuer))}
    ToolClient.objects.update_or_create(server=place, issuer=issuer, defaults=values)


def forget_client(place: str, issuer: str) -> None:
    """The authorization server does not know it any more: the next sign-in registers a new one."""
    ToolClient.objects.filter(server=place, issuer=issuer).delete()


def _bound_client(place: str, issuer: str) -> bytes:
    return b"tool client\0" + place.encode() + b"\0" + issuer.encode()
