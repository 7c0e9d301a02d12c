"""An MCP server of the tools file: lists the tools that the operator named, and calls them.

The tools that it lists become offers, and the results of calls are read. A server may keep state in a session or in a program's memory, so
each conversation has its own (or each person; all share one only where the operator says so). If it is lost, the model is told.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from chatui.json_schemas import UnusableError, listed_in
from chatui.tools.file_access import EndedSession, SessionPlace, TurnSessions
from chatui.tools.mcp import results
from chatui.tools.mcp.beside import Beside
from chatui.tools.mcp.http import HttpPeer
from chatui.tools.mcp.messages import NOT_FOUND, KeptSession, ServerRefusedError
from chatui.tools.mcp.results import ERROR_CHARS
from chatui.tools.mcp.stdio import ProgramLaunch, ServerPrograms, StdioPeer
from chatui.tools.remote import definition as credentials
from chatui.tools.remote.definition import McpSpec
from chatui.tools.remote.offers import (
    ArgumentPlace,
    Listing,
    Moment,
    OfferedArguments,
    ServerError,
    ToolOffer,
    cleaned,
    description_of,
    is_name,
    listing,
    without_arguments,
)
from chatui.tools.remote.originals import original
from chatui.tools.remote.schemas import reduced
from chatui.tools.replies import in_middle
from chatui.tools.tool import DESCRIPTION_CHARS, CallingTurn, Noted, ToolError

log = logging.getLogger(__name__)

LINE_CHARS = 300
"""The most characters of each line of a program's standard error that is logged."""
_MIRRORED = "x-mcp-header"


def offered(server: str, remote: str, found: Sequence[Any], name: str) -> ToolOffer:
    """One of a server's tools (``found``) as a tool with that name.

    Raises:
        UnusableError: the server has no such tool, or several; or it cannot be described to a model.
    """
    matching = [each for each in found if isinstance(each, Mapping) and each.get("name") == remote]
    if len(matching) != 1:
        raise UnusableError("the server has no such tool" if not matching else "the server has several tools of that name")
    [definition] = matching
    words = next((each for each in (definition.get("description"), definition.get("title")) if isinstance(each, str) and each.strip()), "")
    schema = definition.get("inputSchema")
    if not isinstance(schema, Mapping):
        raise UnusableError("it has no schema")
    if _MIRRORED in json.dumps(schema):
        raise UnusableError("it wants arguments as headers, which proxies may log")
    shown = reduced(schema, top="mapped")
    arguments, required = OfferedArguments(), listed_in(shown.schema, "required")
    for wire, each in shown.schema["properties"].items():
        arguments.add(wire, ArgumentPlace(part="arguments", name=wire), each, is_needed=wire in required)
    about: dict[str, Any] = {each: shown.schema[each] for each in ("description", "additionalProperties") if each in shown.schema}
    return ToolOffer(
        name=name,
        server=server,
        remote=remote,
        description=description_of(words),
        parameters={**arguments.schema(), **about},
        places=arguments.places,
        left_out=shown.left_out,
        original=original(schema, schema) if shown.left_out else None,
    )


def _described(found: Sequence[Any]) -> list[tuple[str, str]]:
    named = [each for each in found if isinstance(each, Mapping) and is_name(each.get("name"))]
    return [(each["name"], cleaned(str(each.get("description") or ""), DESCRIPTION_CHARS)) for each in named]


MAX_PAGES = 20
MAX_LISTED = 1000
MAX_LIST_CHARS = 4_000_000
"""The most characters of all pages of a list together."""
MAX_ROUNDS = 10
"""The most times that a call is sent because the server wants input."""


STATE_IS_GONE = (
    "The tool's server has begun a new session with this call. Whatever it kept from earlier calls of its tools is gone, such as data, open"
    " pages or a place in a file: do not rely on it, and set up again what you need."
)


@dataclass(eq=False, kw_only=True)
class _SessionOfCall(KeptSession):
    """The session in which a call is made."""

    sessions: TurnSessions = field(repr=False)
    place: SessionPlace
    key: UUID
    """The conversation, or the person."""
    unreported: set[UUID]
    """Those whose state is gone, of which the model knows nothing yet."""

    async def last(self) -> str | None:
        return await self.sessions.last(self.place)

    async def replace(self, before: str | None, after: str) -> str:
        now = await self.sessions.replace(self.place, before, after)
        if after and before is not None:
            self.unreported.add(self.key)
        return now


class McpServer:
    """A server whose tools are offered. Its methods run on the event loop of the tools.

    What a server says is read in a thread: a few megabytes can take seconds, for which the tools of all other servers would wait."""

    def __init__(self, spec: McpSpec) -> None:
        self._spec = spec
        self.on_changed: Callable[[], None] = lambda: None
        """Called when the server says that its tools have changed."""
        headers = partial(credentials.headers, spec.headers)
        self._http = HttpPeer(spec.url, headers, asks=spec.speaks_to_person, is_public=bool(spec.place)) if spec.url else None
        launch = ProgramLaunch(spec.command, lambda: credentials.texts(spec.environment), spec.directory, self._tell, self._beside())
        self._peer: HttpPeer | StdioPeer = self._http or StdioPeer(launch)
        self._programs = ServerPrograms(launch, spec.programs)
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._unreported: set[UUID] = set()
        self._is_used = asyncio.Lock()
        # The server in stored sessions: its name, and a digest, since another server of the same name must not get them.
        self._place = spec.identity

    async def described(self) -> list[tuple[str, str]]:
        """The tools that the server lists now and a page can show, by its names, each with its description, cleaned. Raises ServerError."""
        return await asyncio.to_thread(_described, await self._found())

    async def listed(self) -> Listing:
        """The current offers. What a server says about itself (``instructions``, annotations) is not used. Nobody's session is used for it.
        Raises ServerError.
        """
        found = await self._found()
        spec = self._spec
        return await asyncio.to_thread(listing, spec.name, spec.selected, lambda remote, name: offered(spec.name, remote, found, name))

    async def _found(self) -> list[Any]:
        async with self._nobodys() as peer:
            try:
                with without_arguments():
                    return await self._paged(peer, "tools")
            except ServerRefusedError:
                raise ServerError("the server refused to list its tools", Moment.DOWN) from None

    async def prompts(self) -> list[Any]:
        """The prompts that the server lists now, unread; none if it says that it has none. Raises as ``ask``."""
        async with self._nobodys() as peer:
            has = await peer.capabilities()
            try:
                found = await self._paged(peer, "prompts") if has is None or "prompts" in has else []
            except ServerRefusedError as error:
                if error.code != NOT_FOUND:
                    raise
                found = []
        return list(credentials.without(found, credentials.secrets(self._spec.headers, self._spec.environment)))

    async def _paged(self, peer: HttpPeer | StdioPeer, what: str) -> list[Any]:
        """All pages of a list (``tools``, ``prompts``). Raises as ``ask``."""
        found, cursor, size = list[Any](), None, 0
        for _ in range(MAX_PAGES):
            page = await peer.ask(f"{what}/list", {"cursor": cursor} if cursor else {}, beside=self._beside())
            size += len(json.dumps(page))
            if size > MAX_LIST_CHARS:
                raise ServerError(f"the server's list of {what} is too long")
            found += listed_in(page, what)
            before, cursor = cursor, page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or cursor == before or len(found) > MAX_LISTED:
                break
        return found[:MAX_LISTED]

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request that only reads, in no conversation's session, without credentials.

        Raises:
            ServerRefusedError: the server responded with an error.
            ServerError: the server did not respond.
        """
        async with self._nobodys() as peer:
            found = await peer.ask(method, params, beside=self._beside())
        return dict(credentials.without(found, credentials.secrets(self._spec.headers, self._spec.environment)))

    @asynccontextmanager
    async def _nobodys(self) -> AsyncIterator[HttpPeer | StdioPeer]:
        """The peer in a block that asks for nobody. A program that no call is for ends afterwards."""
        if self._http is not None or self._spec.sessions == "shared":
            yield self._peer
            return
        async with self._is_used:
            try:
                yield self._peer
            finally:
                await self._peer.close()

    async def call(self, offer: ToolOffer, arguments: dict[str, Any], turn: CallingTurn) -> Any:
        """The result of a call, as JSON, perhaps ``Noted``. ``turn``: decides which session is used; the server gets nothing of it.

        Raises:
            ServerError: the call failed.
            ToolError: the server reports an error. The text is for the model.
        """
        key = self._key(turn)
        try:
            found = await self._called(offer, arguments, turn, key)
        except ToolError as error:
            raise ToolError(f"{self._note(key)} {error}".strip()) from None
        note = self._note(key)
        return Noted(found, note) if note else found

    def _beside(self, turn: CallingTurn | None = None, hidden: tuple[str, ...] = ()) -> Beside:
        """What is done with what the server sends beside its answer to a request: of this turn, or of the product itself."""
        return Beside(
            speaker=self._spec.name,
            person=turn.person if turn else None,
            may_speak=self._spec.speaks_to_person,
            on_changed=lambda: self.on_changed(),
            hidden=hidden,
        )

    def _key(self, turn: CallingTurn) -> UUID:
        return turn.asked_by_id if self._spec.sessions == "person" else turn.conversation_id

    def _note(self, key: UUID) -> str:
        """The sentence for the model if state is gone and it does not know that yet."""
        if key not in self._unreported:
            return ""
        self._unreported.discard(key)
        return STATE_IS_GONE

    async def _called(self, offer: ToolOffer, arguments: dict[str, Any], turn: CallingTurn, key: UUID) -> Any:
        secret = credentials.secrets(self._spec.headers, self._spec.environment)
        named = offer.named(arguments)
        try:
            found = await self._asked({"name": offer.remote, "arguments": named}, turn, key, self._beside(turn, secret))
        except ServerRefusedError as error:
            message = in_middle(credentials.without(error.server_message, secret), ERROR_CHARS)
            raise ToolError(f"The server refused the call: {message}") from None
        found = credentials.without(found, secret)
        return await asyncio.to_thread(results.read, found, is_shown=await self._show_person(found, turn))

    async def _show_person(self, found: Mapping[str, Any], turn: CallingTurn) -> bool:
        """Show the person what in a result is for them alone, if the operator allows that. Returns whether it is shown."""
        if not self._spec.speaks_to_person or turn.person is None:
            return False
        text = results.for_person(found)
        return bool(text) and await turn.person.tell(self._spec.name, text)

    async def _asked(self, params: dict[str, Any], turn: CallingTurn, key: UUID, beside: Beside) -> dict[str, Any]:
        """The result. A server without sessions asks the person by a result of its own kind, and is called again with the answers."""
        asked = params
        for _ in range(MAX_ROUNDS):
            found = await self._sent(asked, turn, key, beside)
            if not results.wants_input(found):
                return found
            asked = {**params, **await beside.input_for(found)}
        raise ToolError("The tool asked the person again and again instead of answering.")

    async def _sent(self, params: dict[str, Any], turn: CallingTurn, key: UUID, beside: Beside) -> dict[str, Any]:
        if turn.sessions is None:
            raise ToolError("This tool can only be used in a conversation.")
        place = SessionPlace(self._place, key == turn.asked_by_id)
        lock = self._locks.setdefault(key, asyncio.Lock())
        session = _SessionOfCall(lock=lock, sessions=turn.sessions, place=place, key=key, unreported=self._unreported)
        if self._spec.sessions == "shared":
            return await self._asked_of_all(params, session, beside)
        if self._http is not None:
            return await self._http.ask("tools/call", params, session, beside)
        return await self._programs.ask(key, turn.asked_by_id, session, ("tools/call", params, beside))

    async def _asked_of_all(self, params: dict[str, Any], session: _SessionOfCall, beside: Beside) -> dict[str, Any]:
        """As ``_asked``, in the session of everybody. A digest of it is stored: it says whether the conversation used this one before, but
        cannot end it."""
        before = await session.last()
        found = await self._peer.ask("tools/call", params, beside=beside)
        now = self._peer.run and hashlib.sha256(self._peer.run.encode()).hexdigest()
        if now and now != before:
            with suppress(ToolError):  # the call was made; the model is told with a later one
                await session.replace(before, now)
        return found

    async def ping(self, turn: CallingTurn) -> None:
        """Ask for an answer of any kind, after a call of this turn got none. Raises ServerError if there is none, or garbage.

        A program is the one of the call. If that has ended, or does not answer, which ends it and no other, the one for listings says
        whether the server is down."""
        if not await self._programs.answers_ping(self._key(turn)):
            async with self._nobodys() as peer:
                await peer.ping()

    async def end(self, ended: Sequence[EndedSession]) -> None:
        """End these sessions, whose conversations or people are gone. Never raises."""
        for each in ended:
            self._programs.end(each.key)
        if self._http is not None:
            await asyncio.gather(*(self._http.end(each.session) for each in ended if each.server == self._place))

    async def close(self) -> None:
        await self._programs.close()
        await self._peer.close()

    def _tell(self, event: str, words: Sequence[str] = ()) -> None:
        """Tell the operator. ``words``: lines of the program, which are only logged, and without credentials."""
        shown: Sequence[str] = ()
        with suppress(ServerError):
            shown = credentials.without(list(words), credentials.secrets(self._spec.environment))
        log.warning("tool server %s: %s%s", self._spec.name, event, "".join(f" | {cleaned(line, LINE_CHARS)}" for line in shown))
