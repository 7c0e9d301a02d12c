"""The tools of other servers in this process: those that the operator named and confirmed, and that have not changed since.

The confirmed definitions are stored in the data directory, and a model is only ever shown these. So nothing here waits for a server, and
one that is down does not delay the start. A server's current tools are checked in the background, and before a call if the last check is
old. The operator reviews what has changed.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import threading
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chatui.env import environment
from chatui.json_schemas import UnusableError, check_schema
from chatui.operator_files import replace_file
from chatui.tools import functions
from chatui.tools.execution import run_on_tools_loop, tools_loop
from chatui.tools.file_access import EndedSession
from chatui.tools.mcp.server import McpServer
from chatui.tools.openapi import OpenApiServer
from chatui.tools.remote import definition
from chatui.tools.remote.definition import McpSpec, OpenApiSpec, ServerSpec
from chatui.tools.remote.exchange import Breaker
from chatui.tools.remote.offers import Listing, Moment, ServerError, ToolOffer, without_arguments
from chatui.tools.tool import EFFECT_UNKNOWN, CallingTurn, Tool, ToolError

FILE = "confirmed_tools.json"
_MAX_BYTES = 10_000_000


class Confirmation(BaseModel):
    """An offer as the operator confirmed it, and the time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    offer: ToolOffer
    digest: str
    confirmed_at: datetime


class Confirmations(BaseModel):
    """The content of the file. ``tools``: by our names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = Field(1, ge=1, le=1)
    tools: dict[str, Confirmation] = Field(default_factory=dict)


def read(data_dir: Path) -> Confirmations:
    """The confirmations; none if there is no file yet. Entries that do not match their digest are left out.

    Raises:
        UnusableError: the file is damaged.
    """
    try:
        with (data_dir / FILE).open("rb") as file:
            found = Confirmations.model_validate_json(file.read(_MAX_BYTES))
    except FileNotFoundError:
        return Confirmations()
    except (OSError, ValidationError) as error:
        raise UnusableError(f"{FILE} in the data directory cannot be read ({type(error).__name__})") from None
    return Confirmations(tools={name: each for name, each in found.tools.items() if each.offer.digest() == each.digest})


def write(data_dir: Path, confirmations: Confirmations) -> None:
    """Replace the file atomically."""
    replace_file(data_dir / FILE, confirmations.model_dump_json(indent=1))


def confirm(known: Confirmations, offer: ToolOffer) -> Confirmations:
    """The confirmations with this offer added, replacing any of the same name."""
    made = Confirmation(offer=offer, digest=offer.digest(), confirmed_at=datetime.now(UTC))
    return Confirmations(tools={**known.tools, offer.name: made})


log = logging.getLogger(__name__)

LISTED_SECONDS = 300.0
"""The maximum age of a tool listing when a tool is called."""
LIST_SECONDS = 20.0
CHECK_SECONDS = 30.0
MAX_CALLS = 20
"""The most simultaneous calls to one server in one process, a third of them for one person; others wait, within their time limit."""


class ServerConnection:
    """The connection to a tool server. Use it on the tools' event loop; only ``changed`` may be called in any thread."""

    def __init__(self, spec: ServerSpec, server: McpServer | OpenApiServer) -> None:
        self.spec = spec
        self._server = server
        self._breaker = Breaker()
        self._listing: Listing | None = None
        self._listed_at = float("-inf")
        self._is_listing = asyncio.Lock()
        self._places = asyncio.Semaphore(MAX_CALLS)
        self._shares: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()
        self._checking: asyncio.Task[None] | None = None

    def changed(self, offer: ToolOffer) -> bool:
        """Whether the server is known to have removed or changed the confirmed offer; False until its tools have been listed."""
        listing = self._listing
        return listing is not None and (offer.remote not in listing.offers or listing.offers[offer.remote].digest() != offer.digest())

    async def call(self, offer: ToolOffer, turn: CallingTurn, arguments: Mapping[str, Any]) -> Any:
        """The result of a call of this turn, as JSON, perhaps ``Noted``.

        Raises:
            ToolError: the call failed. The text is for the model.
        """
        try:
            # One person has a third of the places, so that a slow tool of theirs does not delay what others call.
            share = self._shares.setdefault(turn.asked_by_id, asyncio.Semaphore(max(1, MAX_CALLS // 3)))
            async with share, self._places, self._breaker.watching():
                return await self._called(offer, turn, arguments)
        except ServerError as error:
            unknown = f" {EFFECT_UNKNOWN}" if error.moment in (Moment.LOST, Moment.ANSWERED) else ""
            sentence = f"{'The tool failed' if unknown else 'The tool could not be used'}: {error}.{unknown}"
            self._tell(sentence)
            if error.moment in (Moment.LOST, Moment.UNREAD):
                self._check_soon(turn)
            raise ToolError(sentence) from None

    async def _called(self, offer: ToolOffer, turn: CallingTurn, arguments: Mapping[str, Any]) -> Any:
        began = time.monotonic()
        try:
            await self._list_if_old()
            if self.changed(offer):
                raise ToolError("This tool has changed, and cannot be used until the operator confirms it.")
            return await self._server.call(offer, dict(arguments), turn)
        except asyncio.CancelledError:
            # The person pressed Stop, or the tool was slow, or the server is down: a ping decides.
            if time.monotonic() - began >= self.spec.seconds * 0.9:
                self._check_soon(turn)
            raise

    def _check_soon(self, turn: CallingTurn) -> None:
        """Ping the server in the background after a call of this turn, once at a time."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check(turn))

    async def _check(self, turn: CallingTurn) -> None:
        try:
            async with self._breaker.watching():
                with without_arguments():
                    await _within(CHECK_SECONDS, self._server.ping(turn), "the server did not answer a ping")
        except ServerError as error:
            self._tell(error)

    def _tell(self, words: object) -> None:
        # As a string: of an exception, the log would only have the type.
        log.warning("tool server %s: %s", self.spec.name, str(words))

    async def refresh(self) -> None:
        """List the server's tools again if the last listing is old. A failure of the server is only logged."""
        try:
            async with self._breaker.watching():
                await self._list_if_old()
        except ServerError as error:
            self._tell(error)

    async def _list_if_old(self) -> None:
        async with self._is_listing:
            if time.monotonic() - self._listed_at < LISTED_SECONDS:
                return
            self._listing, self._listed_at = await listed(self._server), time.monotonic()

    async def end(self, ended: Sequence[EndedSession]) -> None:
        await self._server.end(ended)

    async def close(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.wait({self._checking})
        await self._server.close()


async def listed(server: McpServer | OpenApiServer) -> Listing:
    """What the server offers now. Raises ServerError."""
    late = f"the server did not list its tools within {LIST_SECONDS:g} seconds"
    found: Listing = await _within(LIST_SECONDS, server.listed(), late)
    return found


async def _within(seconds: float, asked: Awaitable[Any], late: str) -> Any:
    """What a server answers to a question of our own. If it is late, the server counts as down."""
    try:
        async with asyncio.timeout(seconds):
            return await asked
    except TimeoutError:
        raise ServerError(late, Moment.DOWN) from None


_SLACK_SECONDS = 1.0
"""How much longer a tool's time limit is than its server's, so that a call that takes as long as that is known to be late."""


def tools() -> dict[str, Tool]:
    """The tools that may be offered now, by name."""
    path = environment().tools_file
    return {} if path is None else {tool.name: tool for tool in _known(path).tools(environment().data_dir)}


def refresh_if_due() -> None:
    """Check for changes of the servers' tools in the background, if the last check is old."""
    path = environment().tools_file
    if path is not None:
        _known(path).refresh_if_due()


def end_from_thread(ended: Sequence[EndedSession]) -> Sequence[Future[None]]:
    """End the sessions of conversations or people that are gone. Returns what may be waited for."""
    path = environment().tools_file
    if path is None or not ended:
        return ()
    return [run_on_tools_loop(server.end(ended)) for server in _known(path).servers.values()]


def server_of(spec: OpenApiSpec | McpSpec) -> McpServer | OpenApiServer:
    """The server that a table in the file describes."""
    return McpServer(spec) if isinstance(spec, McpSpec) else OpenApiServer(spec)


class _ToolServers:
    """The servers of one file, and the tools created from the confirmations. They are created again when the confirmations change."""

    def __init__(self, path: Path) -> None:
        file = definition.read_file(path)
        for problem in file.problems:
            log.error("CHATUI_TOOLS_FILE: %s", problem)
        self.servers = {spec.name: ServerConnection(spec, server_of(spec)) for spec in file.servers}
        self._stamp: tuple[int, int] | None = None
        self._made: list[tuple[Tool, ToolOffer]] = []
        self._lock = threading.Lock()
        self._checked_at = float("-inf")

    def tools(self, data_dir: Path) -> list[Tool]:
        """The confirmed tools, without those that are known to have changed since."""
        with self._lock:
            try:
                status = (data_dir / FILE).stat()
                stamp = status.st_mtime_ns, status.st_ino
            except OSError:
                stamp = 0, 0
            if stamp != self._stamp:
                self._made, self._stamp = list(self._from(data_dir)), stamp
            return [tool for tool, offer in self._made if not self.servers[offer.server].changed(offer)]

    def _from(self, data_dir: Path) -> Iterator[tuple[Tool, ToolOffer]]:
        try:
            confirmations = read(data_dir)
        except UnusableError as error:
            log.error("no tool of another server is offered: %s", error)
            return
        for each in confirmations.tools.values():
            watched = self.servers.get(each.offer.server)
            if watched is None or each.offer.remote not in watched.spec.selected:
                continue
            try:
                yield tool_of(each.offer, watched), each.offer
            except UnusableError as error:
                log.error("tool %s is not offered: %s", each.offer.name, error)

    def refresh_if_due(self) -> None:
        if time.monotonic() - self._checked_at < LISTED_SECONDS:
            return
        self._checked_at = time.monotonic()
        for watched in self.servers.values():
            asyncio.run_coroutine_threadsafe(watched.refresh(), tools_loop())


@cache
def _known(path: Path) -> _ToolServers:
    return _ToolServers(path)


def tool_of(offer: ToolOffer, watched: ServerConnection) -> Tool:
    """The tool for an offer. Its label is the operator's.

    Raises:
        UnusableError: the tool cannot be offered.
    """
    check_schema(offer.parameters)
    label = watched.spec.labels.get(offer.remote) or functions.DEFAULT_LABEL
    functions.check_label(label, offer.parameters)
    return Tool(
        name=offer.name,
        description=offer.description,
        parameters=offer.parameters,
        begin=lambda turn: partial(watched.call, offer, turn),
        is_async=True,
        label=label,
        source=offer.server,
        seconds=watched.spec.seconds + _SLACK_SECONDS,
        revision=offer.digest(),
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
    """The review of one tool. ``offer``: the current offer; None if it cannot be confirmed. ``before``: the confirmed offer."""

    name: str
    state: ReviewState
    offer: ToolOffer | None = None
    before: ToolOffer | None = None
    problem: str = ""
    confirmed_at: datetime | None = None

    def diff(self) -> list[str]:
        """The changes, as the lines of a unified diff; the whole offer if nothing was confirmed."""
        before = self.before.lines() if self.before else []
        after = self.offer.lines() if self.offer else []
        return list(difflib.unified_diff(before, after, "confirmed", "now", lineterm="", n=2))


async def reviewed(path: Path, confirmations: Confirmations) -> tuple[list[Review], list[str]]:
    """The reviews of all tools, and a message for each problem with the file or a server. Queries every server, in parallel."""
    file = definition.read_file(path)
    listings = await asyncio.gather(*map(_listed, file.servers))
    tools: list[Review] = []
    problems, silent = list(file.problems), set[str]()
    for spec, listing in zip(file.servers, listings, strict=True):
        if isinstance(listing, str):
            problems.append(f"{spec.name}: {listing}")
            silent.add(spec.name)
        else:
            tools += _of_server(spec, listing, confirmations)
    seen = {each.name for each in tools}
    removed = [each.offer for name, each in confirmations.tools.items() if name not in seen and each.offer.server not in silent]
    tools += [Review(offer.name, ReviewState.GONE, before=offer) for offer in removed]
    return tools, problems


async def _listed(spec: OpenApiSpec | McpSpec) -> Listing | str:
    server = server_of(spec)
    try:
        return await listed(server)
    except ServerError as error:
        return str(error)
    finally:
        await server.close()


def _of_server(spec: OpenApiSpec | McpSpec, listing: Listing, confirmations: Confirmations) -> Iterator[Review]:
    for remote, problem in listing.problems.items():
        yield Review(f"{spec.name}/{remote}", ReviewState.UNUSABLE, problem=problem)
    for offer in listing.offers.values():
        known = confirmations.tools.get(offer.name)
        before = known.offer if known else None
        try:
            tool_of(offer, ServerConnection(spec, server_of(spec)))
        except UnusableError as error:
            yield Review(offer.name, ReviewState.UNUSABLE, before=before, problem=str(error))
            continue
        state = ReviewState.NEW if known is None else ReviewState.CONFIRMED if known.digest == offer.digest() else ReviewState.CHANGED
        yield Review(offer.name, state, offer, before, confirmed_at=known.confirmed_at if known else None)
