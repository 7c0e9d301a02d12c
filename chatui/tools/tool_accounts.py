"""A person's accounts at tool servers: which servers have one, how they connect it, and how it ends.

Everything here is called in a thread, by pages and commands. Requests run on the event loop of the tools.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction

from chatui.tools import server_registry
from chatui.tools.execution import tools_loop
from chatui.tools.remote.definition import McpSpec, OpenApiSpec
from chatui.tools.sign_in import discovery, flow, kept
from chatui.tools.sign_in.discovery import Authorizer
from chatui.tools.sign_in.door import Door, SignInError, UnavailableError, door_of
from chatui.tools.sign_in.flow import Client, PendingToolSignIn, SignInRefusedError, Tokens

log = logging.getLogger(__name__)
T = TypeVar("T")

SECONDS = 25.0
"""For all requests that a person waits for."""
WAIT_SECONDS = 4.0


def servers() -> dict[str, McpSpec | OpenApiSpec]:
    """The servers at which each person signs in as themselves, by name."""
    return {spec.name: spec for spec in server_registry.specs() if spec.is_per_person}


def begin(spec: McpSpec | OpenApiSpec, person_id: UUID, back: str, after: str) -> PendingToolSignIn:
    """A sign-in of this person, who is to be sent to its ``address``. ``back``: the address of ours to which they come back.

    Raises:
        SignInError: it cannot begin.
    """
    place, door = kept.place_of(spec), door_of(spec, spec.url)
    found = _waited(discovery.find(spec, door))
    found = replace(found, scopes=tuple(dict.fromkeys((*found.scopes, *kept.wanted(person_id, place)))))
    issuer = found.authorizer.issuer
    client = _known_client(spec, found.authorizer, place, back)
    if client is None:
        client = _waited(flow.register(door, found, back))
        kept.keep_client(place, issuer, back, client)
    return PendingToolSignIn(place, str(person_id), back, after, found.authorizer, found.resource, found.scopes, client.id)


def finish(spec: McpSpec | OpenApiSpec, person_id: UUID, pending: PendingToolSignIn, answer: Mapping[str, str]) -> Tokens:
    """The tokens for the answer that the person's browser brought. The caller stores them, with a line in the audit log.

    Raises:
        SignInError: the answer is not theirs, or is refused.
    """
    place = kept.place_of(spec)
    code = pending.code_of(answer, str(person_id), place)
    client = _client(spec, pending)
    try:
        return _waited(flow.redeem(door_of(spec, spec.url), pending, client, code))
    except SignInRefusedError as error:
        if error.is_of_client:
            kept.forget_client(place, pending.authorizer.issuer)
        raise


def _known_client(spec: McpSpec | OpenApiSpec, authorizer: Authorizer, place: str, back: str) -> Client | None:
    """Who this installation is there; None if it has to register. One that has registered stays who it is."""
    known = flow.fixed_client(spec, authorizer) or kept.client_of(place, authorizer.issuer, back)
    return known or flow.documented_client(spec, authorizer, back)


def _client(spec: McpSpec | OpenApiSpec, pending: PendingToolSignIn) -> Client:
    client = _known_client(spec, pending.authorizer, pending.place, pending.back)
    if client is None or client.id != pending.client_id:
        raise SignInError("this installation's client has changed meanwhile")
    return client


def end(person_id: UUID, name: str, *, waits: bool = False) -> bool:
    """Disconnect a person's account at the server of this name, also one that is no longer in the tools file, and revoke it there. Returns
    whether there was one. ``waits``: until it is revoked, since a new sign-in follows, and some services revoke all that a person has."""
    places = [each.place for each in kept.of_person(person_id) if each.name == name]
    dropped = [(place, tokens) for place in places if (tokens := kept.drop(person_id, place)) is not None]
    transaction.on_commit(lambda: _revoke(dropped, WAIT_SECONDS if waits else 0.0))
    return bool(places)


def end_all(person_id: UUID, *, waits: bool) -> None:
    """As ``end``, for all of a person's accounts, when theirs is closed or erased. ``waits``: until they are revoked, since the process
    exits then."""
    dropped = kept.drop_all(person_id)
    transaction.on_commit(lambda: _revoke(dropped, WAIT_SECONDS if waits else 0.0))


def _revoke(dropped: Sequence[tuple[str, Tokens]], seconds: float = 0.0) -> None:
    """Tell the authorization servers, waiting so long for it: here, the tokens are gone already."""
    known = {kept.place_of(spec): spec for spec in server_registry.specs() if spec.url}
    revocations = []
    for place, tokens in dropped:
        spec = known.get(place)
        door = door_of(spec, spec.url) if spec else Door(frozenset())
        revocations.append(asyncio.run_coroutine_threadsafe(flow.revoke(door, tokens), tools_loop()))
    if seconds and concurrent.futures.wait(revocations, seconds).not_done:
        log.warning("not every sign-in at a tool server could be revoked there at once")


def _waited(work: Coroutine[Any, Any, T]) -> T:
    async def in_time() -> T:
        async with asyncio.timeout(SECONDS):
            return await work

    try:
        return asyncio.run_coroutine_threadsafe(in_time(), tools_loop()).result()
    except TimeoutError:
        raise UnavailableError("it took too long") from None
