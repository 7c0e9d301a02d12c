"""The resources of a tool server that a person can attach: a list in pages, and the content of one that they picked (``tools.picks``)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from uuid import UUID

from chatui.tools.mcp import resources
from chatui.tools.mcp.messages import ServerRefusedError
from chatui.tools.mcp.resources import Content, Resource, Template
from chatui.tools.mcp.server import McpServer
from chatui.tools.picks import NoSuchPickError, Place, asked, opened, signed


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """A page of a server's list. Templates are on the first page."""

    resources: tuple[tuple[Resource, str], ...]
    """Each with its token."""
    templates: tuple[tuple[Template, str], ...]
    """Each with its token."""
    more: str
    """The token of the next page; empty at the end."""
    left_out: int
    """How many of this page cannot be picked."""


def page(name: str, person_id: UUID, token: str) -> ResourcePage:
    """A page of the list of this server, as it is for this person. ``token``: of a next page, or empty.

    Raises:
        NoSuchPickError: see there.
        ServerError: the server could not be asked.
    """
    place = (person_id, name)
    cursor, start = opened("page", place, token) if token else ("", 0)

    async def read(server: McpServer) -> ResourcePage:
        resource_list: list[Resource] = []
        left_out, following = 0, ""
        try:
            answer = await server.ask("resources/list", {"cursor": cursor} if cursor else {})
            resource_list, left_out = await asyncio.to_thread(resources.listed, answer)
            following = resources.next_cursor(answer, cursor)
        except ServerRefusedError:
            if cursor:
                raise
        patterns: list[Template] = []
        if not token:
            patterns, more_left_out = await _templates(server)
            left_out += more_left_out
        end = start + resources.PAGE
        here = resource_list[start:end]
        more = ""
        if len(resource_list) > end:
            more = signed("page", place, [cursor, end])
        elif following:
            more = signed("page", place, [following, 0])
        return ResourcePage(
            tuple((each, signed("resource", place, asdict(each))) for each in here),
            tuple((each, signed("template", place, asdict(each))) for each in patterns),
            more,
            left_out if start == 0 else 0,
        )

    return asked(place, "resources", read)


async def _templates(server: McpServer) -> tuple[list[Template], int]:
    """The templates of the server's first answer, see ``resources.templates``. Many servers have none, and refuse."""
    try:
        return await asyncio.to_thread(resources.templates, await server.ask("resources/templates/list", {}))
    except ServerRefusedError:
        return [], 0


def contents(name: str, person_id: UUID, token: str, values: Mapping[str, str]) -> list[Content]:
    """The contents of what the person picked. ``values``: for the fields of a template. Raises as ``page``."""
    place = (person_id, name)
    picked = _picked(place, token, values)

    async def read(server: McpServer) -> list[Content]:
        return await asyncio.to_thread(resources.contents, await server.ask("resources/read", {"uri": picked.uri}), picked)

    return asked(place, "resources", read)


def _picked(place: Place, token: str, values: Mapping[str, str]) -> Resource:
    try:
        return Resource(**opened("resource", place, token))
    except NoSuchPickError:
        given = opened("template", place, token)
    try:
        return Template(**{**given, "fields": tuple(given["fields"])}).filled(values)
    except ValueError:
        raise NoSuchPickError from None
