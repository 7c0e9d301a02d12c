"""The tools of other servers in this process: those that the operator named and confirmed, and that have not changed since.

The confirmed definitions are in the database (``confirmations``), and a model is only ever shown these. So nothing here waits for a
server, and one that is down does not delay the start. A server's current tools are checked in the background, and before a call if the
last check is old. The operator reviews what has changed.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from django.db import DatabaseError, InterfaceError

from chatui.env import environment
from chatui.json_schemas import UnusableError, check_schema
from chatui.tools import confirmations, functions, rules, stored_servers
from chatui.tools.confirmations import Confirmations
from chatui.tools.execution import run_on_tools_loop, tools_loop, waiting_for_place
from chatui.tools.file_access import EndedSession
from chatui.tools.mcp.server import McpServer
from chatui.tools.openapi.server import OpenApiServer
from chatui.tools.remote import definition
from chatui.tools.remote import definition as credentials
from chatui.tools.remote.definition import McpSpec, OpenApiSpec, ToolsFile
from chatui.tools.remote.exchange import Breaker
from chatui.tools.remote.offers import Listing, Moment, ServerError, ToolOffer, without_arguments
from chatui.tools.sign_in.tokens import SignInNeededError, SignIns
from chatui.tools.tool import EFFECT_UNKNOWN, CallingTurn, CallNeedsSignInError, Foreseen, Tool, ToolError

log = logging.getLogger(__name__)
T = TypeVar("T")

LISTED_SECONDS = 300.0
"""The maximum age of a tool listing when a tool is called."""
LIST_SECONDS = 20.0
CHECK_SECONDS = 30.0
MAX_CALLS = 20
"""The most simultaneous calls to one server in one process, a third of them for one person; others wait, and are not timed meanwhile."""
MAX_READERS = 6
"""The most people whose resources and prompts one process reads at one server at a time; each of them one after another."""
MOST_READING_SECONDS = 60.0
RELIST_SECONDS = 30.0
"""A server that says that its tools have changed has them listed again, at most once in this time."""


MAX_OWN_LISTINGS = 1000
SIGN_IN = (
    "The tool was not called: {reason}. Tell the person that this needs their own account at “{server}”, that a button below your answer,"
    " or “Connected accounts” in their settings, connects it, and that they can ask again afterwards. Do not ask them for a password or a"
    " key."
)


class ServerConnection:
    """The connection to a tool server. Use it on the tools' event loop; only ``changed`` may be called in any thread."""

    def __init__(self, spec: McpSpec | OpenApiSpec, server: McpServer | OpenApiServer) -> None:
        self.spec = spec
        self._server = server
        self._breaker = Breaker()
        self._sign_ins = SignIns(spec)
        self._listing: Listing | None = None
        self._listed_at = float("-inf")
        self._own_listings: dict[UUID, tuple[float, Listing]] = {}
        """What the server offers to each person, and since when that is known, if each signs in as themselves."""
        self._is_listing = asyncio.Lock()
        self._places = asyncio.Semaphore(MAX_CALLS)
        self._shares: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()
        self._readers = asyncio.Semaphore(MAX_READERS)
        self._reading: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()
        self._checking: asyncio.Task[None] | None = None
        self._relisting: asyncio.Task[None] | None = None
        if isinstance(server, McpServer):
            server.on_changed = self._relist_soon

    def changed(self, offer: ToolOffer) -> bool:
        """Whether the server is known to have removed or changed the confirmed offer; False until its tools have been listed. What one
        person's own list has says nothing about the lists of others."""
        return self._listing is not None and _differs(offer, self._listing)

    async def call(self, offer: ToolOffer, turn: CallingTurn, arguments: Mapping[str, Any]) -> Any:
        """The result of a call of this turn, as JSON, perhaps ``Noted``.

        Raises:
            ToolError: the call failed. The text is for the model.
        """
        if not self._is_connected(offer):
            raise ToolError("The tool's server is not connected any more.")
        try:
            # One person has a third of the places, so that a slow tool of theirs does not delay what others call.
            share = self._shares.setdefault(turn.asked_by_id, asyncio.Semaphore(max(1, MAX_CALLS // 3)))
            async with AsyncExitStack() as held:
                with waiting_for_place():
                    await held.enter_async_context(share)
                    await held.enter_async_context(self._places)
                async with self._breaker.watching():
                    return await self._called(offer, turn, arguments)
        except SignInNeededError as error:
            raise CallNeedsSignInError(SIGN_IN.format(reason=error, server=self.spec.name), self.spec.name) from None
        except ServerError as error:
            unknown = f" {EFFECT_UNKNOWN}" if error.moment in (Moment.LOST, Moment.ANSWERED) else ""
            sentence = f"{'The tool failed' if unknown else 'The tool could not be used'}: {error}.{unknown}"
            self._tell(sentence)
            if error.moment in (Moment.LOST, Moment.UNREAD):
                self._check_soon(turn)
            raise ToolError(f"{sentence} It said: {error.server_words}" if error.server_words else sentence) from None

    async def asked_apart(self, person_id: UUID, work: Callable[[McpServer], Awaitable[T]]) -> T:
        """Run ``work`` at an MCP server for this person, as that person, in a session of its own, and return what it read: calls neither
        wait for that session nor see anything of it. Only a server whose state all people share is asked in its own.

        Raises:
            ServerError: there is no answer, or none in time.
        """
        if not isinstance(self._server, McpServer):
            raise ServerError("it is no MCP server", Moment.NOT_RUN)
        share = self._reading.setdefault(person_id, asyncio.Semaphore(1))
        limit = min(MOST_READING_SECONDS, max(LIST_SECONDS, self.spec.seconds))
        is_shared = isinstance(self.spec, McpSpec) and self.spec.sessions == "shared"

        async def alone() -> T:
            server = self._server if is_shared else server_of(self.spec)
            assert isinstance(server, McpServer)  # noqa: S101 - as checked above
            try:
                return await work(server)
            finally:
                if not is_shared:
                    await server.close()

        async def in_turn() -> T:
            async with share, self._readers, self._breaker.watching():
                return await self._sign_ins.with_token(person_id, alone)

        found: T = await _within(limit, in_turn(), "the server did not answer in time", Moment.LOST)
        return found

    def _is_connected(self, offer: ToolOffer) -> bool:
        """False for a server of Administration that was switched off, moved or removed there, or of which the tool is no longer chosen: an
        answer that began before still has its tools."""
        place = self.spec.place
        return not place or any(each.place == place and offer.remote in each.selected for each in rules.servers())

    async def _called(self, offer: ToolOffer, turn: CallingTurn, arguments: Mapping[str, Any]) -> Any:
        began = time.monotonic()
        try:
            return await self._sign_ins.with_token(turn.asked_by_id, lambda: self._checked_call(offer, turn, arguments))
        except asyncio.CancelledError:
            # The person pressed Stop, or the tool was slow, or the server is down: a ping decides.
            if time.monotonic() - began >= self.spec.seconds * 0.9:
                self._check_soon(turn)
            raise

    async def _checked_call(self, offer: ToolOffer, turn: CallingTurn, arguments: Mapping[str, Any]) -> Any:
        if self.spec.lists_for_each:
            is_changed = _differs(offer, await self._own_listing(turn.asked_by_id))
        else:
            await self._list_if_old()
            is_changed = self.changed(offer)
        if is_changed:
            raise ToolError("This tool has changed, and cannot be used until the operator confirms it.")
        return await self._server.call(offer, dict(arguments), turn)

    async def _own_listing(self, person_id: UUID) -> Listing:
        """What the server offers to this person, whose token the current task has."""
        known = self._own_listings.get(person_id)
        if known is None or time.monotonic() - known[0] >= LISTED_SECONDS:
            # In a session of its own: one that everybody's lists shared would belong to whoever began it.
            server = server_of(self.spec)
            try:
                known = time.monotonic(), await listed(server, self.spec.seconds)
            finally:
                await server.close()
            self._own_listings.pop(person_id, None)
            self._own_listings[person_id] = known
            while len(self._own_listings) > MAX_OWN_LISTINGS:
                del self._own_listings[next(iter(self._own_listings))]
        return known[1]

    def _check_soon(self, turn: CallingTurn) -> None:
        """Ping the server in the background after a call of this turn, once at a time."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check(turn))

    async def _check(self, turn: CallingTurn) -> None:
        try:
            async with self._breaker.watching():
                with without_arguments(), credentials.token(""):
                    await _within(CHECK_SECONDS, self._server.ping(turn), "the server did not answer a ping")
        except ServerError as error:
            self._tell(error)

    def _tell(self, words: object) -> None:
        # As a string: of an exception, the log would only have the type.
        log.warning("tool server %s: %s", self.spec.name, str(words))

    def _relist_soon(self) -> None:
        """The server says that its tools have changed. What has changed is not offered until it is confirmed again."""
        if self._relisting is None or self._relisting.done():
            self._relisting = asyncio.create_task(self._relist())

    async def _relist(self) -> None:
        await asyncio.sleep(max(0.0, self._listed_at + RELIST_SECONDS - time.monotonic()))
        before, self._listed_at = self._listing, float("-inf")
        await self.refresh()
        if before is not None and self._listing is not None and _digests(before) != _digests(self._listing):
            self._tell("its tools have changed; those that did are not offered until they are confirmed")

    async def refresh(self) -> None:
        """List the server's tools again if the last listing is old. A failure of the server is only logged. Nobody's list is that of a
        server at which each person signs in."""
        if self.spec.lists_for_each:
            return
        try:
            async with self._breaker.watching():
                await (self._list_if_old() if self.spec.is_per_person else self._sign_ins.with_token(None, self._list_if_old))
        except ServerError as error:
            self._tell(error)

    async def _list_if_old(self) -> None:
        async with self._is_listing:
            if time.monotonic() - self._listed_at < LISTED_SECONDS:
                return
            self._listing, self._listed_at = await listed(self._server, self.spec.seconds), time.monotonic()

    async def end(self, ended: Sequence[EndedSession]) -> None:
        await self._server.end(ended)

    async def close(self) -> None:
        for task in filter(None, (self._checking, self._relisting)):
            task.cancel()
            await asyncio.wait({task})
        await self._server.close()


def _differs(offer: ToolOffer, listing: Listing) -> bool:
    return offer.remote not in listing.offers or listing.offers[offer.remote].digest() != offer.digest()


async def listed(server: McpServer | OpenApiServer, seconds: float) -> Listing:
    """What the server offers now. ``seconds``: its own limit, which counts if it is longer: a program may start slowly. Raises
    ServerError."""
    limit = max(LIST_SECONDS, seconds)
    late = f"the server did not list its tools within {limit:g} seconds; a higher seconds in its table gives it longer"
    found: Listing = await _within(limit, server.listed(), late)
    return found


def _digests(listing: Listing) -> dict[str, str]:
    return {remote: offer.digest() for remote, offer in listing.offers.items()}


async def _within(seconds: float, asked: Awaitable[Any], late: str, moment: Moment = Moment.DOWN) -> Any:
    """What a server answers to a question of our own. If it is late, the server counts as down, unless ``moment`` says something else."""
    try:
        async with asyncio.timeout(seconds):
            return await asked
    except TimeoutError:
        raise ServerError(late, moment) from None


_SLACK_SECONDS = 1.0
"""How much longer a tool's time limit is than its server's, so that a call that takes as long as that is known to be late."""


def tools() -> dict[str, Tool]:
    """The tools that may be offered now, by name."""
    return {tool.name: tool for tool in _known(environment().tools_file).tools()}


def refresh_if_due() -> None:
    """Check for changes of the servers' tools in the background, if the last check is old."""
    _known(environment().tools_file).refresh_if_due()


def end_from_thread(ended: Sequence[EndedSession]) -> Sequence[Future[None]]:
    """End the sessions of conversations or people that are gone. Returns what may be waited for."""
    if not ended:
        return ()
    return [run_on_tools_loop(server.end(ended)) for server in list(_known(environment().tools_file).servers.values())]


def specs() -> tuple[OpenApiSpec | McpSpec, ...]:
    """The servers that this process knows."""
    if not rules.has_servers():
        return ()
    known = _known(environment().tools_file)
    known.tools()  # reads which servers there are in Administration now
    return tuple(each.spec for each in known.servers.values())


def connection(name: str) -> ServerConnection | None:
    """The connection to the server of this name, if there is one."""
    return _known(environment().tools_file).servers.get(name)


def resource_servers() -> dict[str, frozenset[str]]:
    """The servers whose resources people may attach, with the names of their tools that are confirmed and have not changed."""
    return _with_tools(lambda spec: spec.resources)


def prompt_servers() -> dict[str, frozenset[str]]:
    """The servers that may give prompts, as ``resource_servers``."""
    return _with_tools(lambda _: True)


def _with_tools(is_meant: Callable[[McpSpec], bool]) -> dict[str, frozenset[str]]:
    known = _known(environment().tools_file)
    offered: dict[str, set[str]] = {}
    for tool in known.tools():
        offered.setdefault(tool.source, set()).add(tool.name)
    meant = (name for name, each in known.servers.items() if isinstance(each.spec, McpSpec) and is_meant(each.spec))
    return {name: frozenset(offered[name]) for name in meant if name in offered}


def server_of(spec: OpenApiSpec | McpSpec) -> McpServer | OpenApiServer:
    """The server that a table in the file describes."""
    return McpServer(spec) if isinstance(spec, McpSpec) else OpenApiServer(spec)


class _ToolServers:
    """The servers of one file and those of Administration, and the tools created from the confirmations. They are created again when the
    confirmations or the latter servers change."""

    def __init__(self, path: Path | None) -> None:
        file = definition.read_file(path) if path else ToolsFile()
        for problem in file.problems:
            log.error("CHATUI_TOOLS_FILE: %s", problem)
        self.servers = {spec.name: ServerConnection(spec, server_of(spec)) for spec in file.servers}
        self._stamp: frozenset[tuple[str, str, str]] = frozenset()
        self._made: list[tuple[Tool, ToolOffer]] = []
        self._lock = threading.Lock()
        self._has_read = False
        self._checked_at = float("-inf")

    def tools(self) -> list[Tool]:
        """The confirmed tools, without those that are known to have changed since.

        The confirmations are read each time, but never on an event loop, which must not wait for a database, and not while the database is
        away: then they are those that this process read last.
        """
        if not _is_on_event_loop():
            try:
                self._read()
            except (DatabaseError, InterfaceError) as error:
                # Before the first migration, this is normal, and not worth a warning.
                level = logging.WARNING if self._has_read else logging.DEBUG
                log.log(level, "the confirmed tools could not be read (%s)", type(error).__name__)
        return [tool for tool, offer in self._made if (server := self.servers.get(offer.server)) and not server.changed(offer)]

    def _read(self) -> None:
        stamp, stored = confirmations.stamp(), {spec.name: spec for spec in stored_servers.specs()}
        with self._lock:
            self._has_read = True
            if self._follow(stored) or stamp != self._stamp:
                self._made, self._stamp = list(self._from(confirmations.stored())), stamp

    def _follow(self, stored: Mapping[str, McpSpec]) -> bool:
        """Connect the servers that are in Administration now. Returns whether any has changed. What has, is another server from now on."""
        known = {name: server.spec for name, server in self.servers.items() if server.spec.place}
        if known == stored:
            return False
        servers = {name: server for name, server in self.servers.items() if not server.spec.place or stored.get(name) == server.spec}
        ended = [server for name, server in self.servers.items() if name not in servers]
        servers |= {name: ServerConnection(spec, server_of(spec)) for name, spec in stored.items() if name not in servers}
        self.servers, self._checked_at = servers, float("-inf")
        for server in ended:
            asyncio.run_coroutine_threadsafe(server.close(), tools_loop())
        return True

    def _from(self, confirmed: Confirmations) -> Iterator[tuple[Tool, ToolOffer]]:
        for each in confirmed.values():
            watched = self.servers.get(each.offer.server)
            if watched is None or each.place != watched.spec.place or each.offer.remote not in watched.spec.selected:
                continue
            try:
                may_run = partial(confirmations.is_current, each.offer.name, each.digest, each.place)
                yield replace(tool_of(each.offer, watched), may_run=may_run), each.offer
            except UnusableError as error:
                log.error("tool %s is not offered: %s", each.offer.name, error)

    def refresh_if_due(self) -> None:
        if time.monotonic() - self._checked_at < LISTED_SECONDS:
            return
        self._checked_at = time.monotonic()
        for watched in list(self.servers.values()):
            asyncio.run_coroutine_threadsafe(watched.refresh(), tools_loop())


def _is_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@cache
def _known(path: Path | None) -> _ToolServers:
    return _ToolServers(path)


def tool_of(offer: ToolOffer, watched: ServerConnection) -> Tool:
    """The tool for an offer. Its label is the operator's.

    Raises:
        UnusableError: the tool cannot be offered.
    """
    check_schema(offer.parameters)
    label = watched.spec.labels.get(offer.remote) or functions.DEFAULT_LABEL
    functions.check_label(label, offer.parameters)
    words = offer.name.removeprefix(f"{offer.server}_").replace("_", " ")
    return Tool(
        name=offer.name,
        description=offer.description,
        parameters=offer.parameters,
        begin=lambda turn: partial(watched.call, offer, turn),
        is_async=True,
        label=label,
        source=offer.server,
        seconds=watched.spec.seconds + _SLACK_SECONDS,
        # What a person allowed for a conversation, they allowed of the server at this place.
        revision=f"{offer.digest()}{watched.spec.place}",
        fault=offer.fault,
        title=f"{offer.server} · {words.capitalize()}",
        foresees=lambda turn, arguments: Foreseen(arguments, offer.server),
    )


class ReviewState(StrEnum):
    """The review states of a tool, in the words that the operator reads."""

    CONFIRMED = "confirmed"
    CHANGED = "CHANGED, disabled until it is confirmed again"
    NEW = "not confirmed yet"
    UNUSABLE = "cannot be offered"
    GONE = "confirmed, but no longer in the file or at its server"


@dataclass(frozen=True, slots=True)
class Review:
    """The review of one tool."""

    name: str
    state: ReviewState
    offer: ToolOffer | None = None
    """The current offer; None if it cannot be confirmed."""
    before: ToolOffer | None = None
    """The confirmed offer."""
    problem: str = ""
    confirmed_at: datetime | None = None
    confirmed_by: str = ""
    place: str = ""

    def diff(self) -> list[str]:
        """The changes, as the lines of a unified diff; the whole offer if nothing was confirmed."""
        before = self.before.lines() if self.before else []
        after = self.offer.lines() if self.offer else []
        return list(difflib.unified_diff(before, after, "confirmed", "now", lineterm="", n=2))


async def reviewed(
    path: Path | None, confirmed: Confirmations, person_id: UUID | None = None, stored: Sequence[McpSpec] = ()
) -> tuple[list[Review], list[str]]:
    """The reviews of all tools, and a message for each problem with the file or a server. Queries every server, in parallel.

    ``person_id``: who reviews. What a server offers at which each person signs in is read with the reviewer's own sign-in. ``stored``: the
    servers of Administration, if these are reviewed, too.
    """
    file = definition.read_file(path) if path else ToolsFile()
    file = replace(file, servers=(*file.servers, *stored))
    listings = await asyncio.gather(*(_listed(spec, person_id) for spec in file.servers))
    tools: list[Review] = []
    problems, silent = list(file.problems), set[str]()
    for spec, listing in zip(file.servers, listings, strict=True):
        if isinstance(listing, str):
            problems.append(f"{spec.name}: {listing}")
            silent.add(spec.name)
        else:
            tools += _of_server(spec, listing, confirmed)
    seen = {each.name for each in tools}
    places = {"", *(spec.place for spec in stored)}
    for name, each in confirmed.items():
        if name not in seen and each.offer.server not in silent and each.place in places:
            tools.append(Review(name, ReviewState.GONE, before=each.offer, place=each.place))
    return tools, problems


async def _listed(spec: OpenApiSpec | McpSpec, person_id: UUID | None) -> Listing | str:
    server = server_of(spec)
    if spec.lists_for_each and person_id is None:
        return "each person signs in to this server as themselves: name the account with whose sign-in its tools are to be read (--as NAME)"
    try:
        if spec.is_per_person and not spec.lists_for_each:
            return await listed(server, spec.seconds)
        return await SignIns(spec).with_token(person_id, lambda: listed(server, spec.seconds))
    except ServerError as error:
        return str(error)
    finally:
        await server.close()


def _of_server(spec: OpenApiSpec | McpSpec, listing: Listing, confirmed: Confirmations) -> Iterator[Review]:
    for remote, problem in listing.problems.items():
        yield Review(f"{spec.name}/{remote}", ReviewState.UNUSABLE, problem=problem)
    for offer in listing.offers.values():
        known = confirmed.get(offer.name)
        known = known if known and known.place == spec.place else None
        before = known.offer if known else None
        try:
            tool_of(offer, ServerConnection(spec, server_of(spec)))
        except UnusableError as error:
            yield Review(offer.name, ReviewState.UNUSABLE, before=before, problem=str(error))
            continue
        state = ReviewState.NEW if known is None else ReviewState.CONFIRMED if known.digest == offer.digest() else ReviewState.CHANGED
        when, who = (known.confirmed_at, known.confirmed_by) if known else (None, "")
        yield Review(offer.name, state, offer, before, confirmed_at=when, confirmed_by=who, place=spec.place)
