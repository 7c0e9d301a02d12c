"""The resources of a tool server that a person can attach: a list in pages, and the content of one that they picked.

Everything here is called in a thread, by pages; requests run on the event loop of the tools. What a person picks is a signed token of what
they were shown, so that nobody can make a server return something that it did not list to them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.core import signing

from chatui.database.connections import release_request_connection
from chatui.tools import server_registry
from chatui.tools.execution import tools_loop
from chatui.tools.mcp import resources
from chatui.tools.mcp.messages import ServerRefusedError
from chatui.tools.mcp.resources import Content, Resource, Template
from chatui.tools.mcp.server import McpServer
from chatui.tools.remote.definition import McpSpec
from chatui.tools.remote.offers import Moment, ServerError
from chatui.tools.server_registry import ServerConnection

log = logging.getLogger(__name__)
T = TypeVar("T")

PICK_SECONDS = 24 * 3600
"""How long what was shown can be picked."""
_SALT = "tool server resources"


class NoSuchPickError(Exception):
    """This is nothing that the person was shown of this server, or not lately; or the values for a template cannot be used."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a server's list. ``resources`` and ``templates``: each with its token. ``more``: the token of the next page; empty at the
    end. ``left_out``: how many of this page cannot be picked. Templates are on the first page."""

    resources: tuple[tuple[Resource, str], ...]
    templates: tuple[tuple[Template, str], ...]
    more: str
    left_out: int


def page(name: str, person_id: UUID, token: str) -> Page:
    """A page of the list of this server, as it is for this person. ``token``: of a next page, or empty.

    Raises:
        NoSuchPickError: see there.
        ServerError: the server could not be asked.
    """
    place = (person_id, name)
    cursor, start = _opened("page", place, token) if token else ("", 0)

    async def read(server: McpServer) -> Page:
        found: list[Resource] = []
        left_out, following = 0, ""
        try:
            answer = await server.ask("resources/list", {"cursor": cursor} if cursor else {})
            found, left_out = resources.listed(answer)
            following = resources.next_cursor(answer, cursor)
        except ServerRefusedError:
            if cursor:
                raise
        patterns: list[Template] = []
        if not token:
            patterns, more_left_out = await _templates(server)
            left_out += more_left_out
        end = start + resources.PAGE
        here = found[start:end]
        more = ""
        if len(found) > end:
            more = _signed("page", place, [cursor, end])
        elif following:
            more = _signed("page", place, [following, 0])
        return Page(
            tuple((each, _signed("resource", place, asdict(each))) for each in here),
            tuple((each, _signed("template", place, asdict(each))) for each in patterns),
            more,
            left_out if start == 0 else 0,
        )

    return _asked(name, person_id, read)


async def _templates(server: McpServer) -> tuple[list[Template], int]:
    """Those of the first answer. Many servers have none, and refuse."""
    try:
        return resources.templates(await server.ask("resources/templates/list", {}))
    except ServerRefusedError:
        return [], 0


def contents(name: str, person_id: UUID, token: str, values: Mapping[str, str]) -> list[Content]:
    """The contents of what the person picked. ``values``: for the fields of a template. Raises as ``page``."""
    picked = _picked((person_id, name), token, values)

    async def read(server: McpServer) -> list[Content]:
        return resources.contents(await server.ask("resources/read", {"uri": picked.uri}), picked)

    return _asked(name, person_id, read)


def _picked(place: tuple[UUID, str], token: str, values: Mapping[str, str]) -> Resource:
    try:
        return Resource(**_opened("resource", place, token))
    except NoSuchPickError:
        given = _opened("template", place, token)
    try:
        return Template(**{**given, "fields": tuple(given["fields"])}).filled(values)
    except ValueError:
        raise NoSuchPickError from None


def _signed(kind: str, place: tuple[UUID, str], what: Any) -> str:
    return signing.dumps([kind, *_bound(place), what], salt=_SALT)


def _opened(kind: str, place: tuple[UUID, str], token: str) -> Any:
    try:
        *of, what = signing.loads(token, salt=_SALT, max_age=PICK_SECONDS)
    except (signing.BadSignature, ValueError):
        raise NoSuchPickError from None
    if of != [kind, *_bound(place)]:
        raise NoSuchPickError
    return what


def _bound(place: tuple[UUID, str]) -> list[str]:
    """The person and the server, which is another one at another address."""
    person_id, name = place
    _, spec = _connection(name)
    return [str(person_id), f"{spec.identity} {spec.place}"]


def _connection(name: str) -> tuple[ServerConnection, McpSpec]:
    found = server_registry.connection(name)
    if found is None or not isinstance(found.spec, McpSpec):
        raise ServerError("it is not connected any more", Moment.NOT_RUN)
    return found, found.spec


def _asked(name: str, person_id: UUID, work: Callable[[McpServer], Awaitable[T]]) -> T:
    connection, _ = _connection(name)
    release_request_connection()
    try:
        return asyncio.run_coroutine_threadsafe(connection.asked_apart(person_id, work), tools_loop()).result()
    except ServerRefusedError:
        raise ServerError("the server refused to give its resources", Moment.NOT_RUN) from None
    except ServerError as error:
        log.warning("tool server %s: its resources could not be read: %s", name, str(error))
        raise
