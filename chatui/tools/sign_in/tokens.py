"""The access tokens of one tool server's calls: of each person, or of the product. Everything here runs on the event loop of the tools.

A token that has expired, or that the server refuses, is renewed once, by one process at a time: authorization servers rotate the token that
renews, and end the sign-in if an old one is used again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID, uuid4

from chatui.audit_log.record import PRODUCT, record
from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.models.user import User
from chatui.tools.remote import definition as credentials
from chatui.tools.remote.definition import McpSpec, OpenApiSpec
from chatui.tools.remote.exchange import StatusError
from chatui.tools.remote.offers import Moment, ServerError
from chatui.tools.sign_in import discovery, flow, kept
from chatui.tools.sign_in.door import Door, SignInError, door_of
from chatui.tools.sign_in.flow import SignInRefusedError, Tokens
from chatui.tools.sign_in.kept import KeptSignIn

log = logging.getLogger(__name__)
T = TypeVar("T")

EARLY_SECONDS = 30.0
"""A token counts as expired so long before it is."""
POLL_SECONDS = 0.2
PATIENCE = 20.0
"""How long a renewed token waits for a database that is locked or away."""
ENDED = "tool server sign-in ended"


class SignInNeededError(ServerError):
    """The person has to sign in at the server first. ``server``: its name."""

    def __init__(self, server: str, text: str) -> None:
        super().__init__(text, Moment.NOT_RUN)
        self.server = server


class SignIns:
    """The sign-ins at one server."""

    def __init__(self, spec: McpSpec | OpenApiSpec, door: Door | None = None) -> None:
        self._spec = spec
        self._place = kept.place_of(spec)
        self._door = door or door_of(spec, spec.url)
        self._own: Tokens | None = None
        self._is_asking = asyncio.Lock()
        self._renewals: dict[UUID, asyncio.Task[KeptSignIn | None]] = {}

    async def with_token(self, person_id: UUID | None, work: Callable[[], Awaitable[T]]) -> T:
        """What ``work`` returns, whose requests carry this person's token. If the server refuses the token, it is renewed, and ``work``
        done again, once: what was refused was not run.

        Raises:
            SignInNeededError: the person has to sign in first.
            ServerError: there is no token now, or ``work`` raised it.
        """
        if self._spec.oauth is None:
            return await work()
        token = ""
        for _ in range(2):
            token = await self._token(person_id, refused=token)
            try:
                with credentials.token(token):
                    return await work()
            except StatusError as error:
                if error.status == 403 and self._spec.is_per_person and person_id is not None:
                    await self._check_scopes(person_id, error)
                if error.status != 401:
                    raise
        if not self._spec.is_per_person or person_id is None:
            raise ServerError("the server does not accept the token that its authorization server gave us", Moment.NOT_RUN)
        await self._end(person_id, "the server does not accept its token")
        raise self._needed(is_again=True)

    async def _token(self, person_id: UUID | None, refused: str) -> str:
        """An access token other than ``refused``."""
        try:
            if not self._spec.is_per_person:
                return await self._of_product(refused)
            if person_id is None:
                raise ServerError("each person signs in to this server as themselves, and nobody was named", Moment.NOT_RUN)
            return await self._of_person(person_id, refused)
        except SignInError as error:
            raise ServerError(f"its sign-in failed: {error}", Moment.NOT_RUN) from None
        except DatabaseBusyError:
            raise ServerError("the sign-in could not be read at the moment", Moment.NOT_RUN) from None

    async def _of_product(self, refused: str) -> str:
        async with self._is_asking:
            if self._own is None or self._own.access == refused or _is_old(self._own):
                found = await discovery.find(self._spec, self._door)
                client = flow.fixed_client(self._spec, found.authorizer)
                if client is None:
                    raise SignInError("the tools file names no client")
                self._own = await flow.of_client(self._door, found, client)
            return self._own.access

    async def _of_person(self, person_id: UUID, refused: str) -> str:
        until = time.monotonic() + kept.RENEWAL_SECONDS
        while time.monotonic() < until:
            found = await pools.turns.run_or_busy(kept.load, person_id, self._place)
            if found is None:
                raise self._needed()
            if found.tokens.access != refused and not _is_old(found.tokens):
                return found.tokens.access
            # In a task of its own: a call that is stopped now must not lose the new token.
            task = self._renewals.get(person_id)
            if task is None or task.done():
                with credentials.token(""):
                    task = self._renewals[person_id] = asyncio.create_task(self._renewed(person_id, found))
                task.add_done_callback(lambda _: self._renewals.pop(person_id, None))
            if (renewed := await asyncio.shield(task)) is not None:
                return renewed.tokens.access
            await asyncio.sleep(POLL_SECONDS)  # another process renews it
        raise SignInError("another process did not renew it in time")

    async def _renewed(self, person_id: UUID, before: KeptSignIn) -> KeptSignIn | None:
        """The sign-in with new tokens; None if another process renews it."""
        by = uuid4()
        if not await writer.run(kept.begin_renewal, before.key, before.renewal, by, patience=PATIENCE):
            return None
        try:
            tokens = await flow.renew(self._door, before.tokens)
        except SignInRefusedError as error:
            if error.is_of_client:
                await writer.run(kept.forget_client, self._place, before.tokens.issuer, patience=PATIENCE)
            await self._end(person_id, str(error), before.key)
            raise self._needed(is_again=True) from None
        except SignInError:
            await writer.run(kept.end_renewal, before.key, by, None, patience=PATIENCE)
            raise
        if not await writer.run(kept.end_renewal, before.key, by, tokens, patience=PATIENCE):
            # Meanwhile the person disconnected, or their account was closed: what was just given must not stay valid.
            await flow.revoke(self._door, tokens)
            raise self._needed()
        return KeptSignIn(before.key, tokens, before.renewal + 1)

    async def _end(self, person_id: UUID, why: str, key: UUID | None = None) -> None:
        log.info("tool server %s: a sign-in ended: %s", self._spec.name, why)
        tokens = await writer.run(_end, person_id, self._place, f"{self._spec.name}: {why}", key, patience=PATIENCE)
        if tokens is not None:
            await flow.revoke(self._door, tokens)

    async def _check_scopes(self, person_id: UUID, error: StatusError) -> None:
        """If the server says that the person's token lacks scopes, they are asked for with the next sign-in."""
        challenge = discovery.challenge_of([error.challenge])
        if challenge.error == "insufficient_scope":
            await writer.run(kept.want, person_id, self._place, challenge.scopes, patience=PATIENCE)
            words = "the person's sign-in there does not allow this. They can connect again, and allow more"
            raise SignInNeededError(self._spec.name, words)

    def _needed(self, *, is_again: bool = False) -> SignInNeededError:
        words = "the person's sign-in there has ended" if is_again else "the person has not signed in there yet"
        return SignInNeededError(self._spec.name, words)


def _is_old(tokens: Tokens) -> bool:
    return time.time() > tokens.expires_at - EARLY_SECONDS


def _end(person_id: UUID, place: str, detail: str, key: UUID | None) -> Tokens | None:
    tokens = kept.drop(person_id, place, key=key)
    if tokens is not None:
        record(ENDED, PRODUCT, User.objects.filter(pk=person_id).values_list("username", flat=True).first(), detail=detail)
    return tokens
