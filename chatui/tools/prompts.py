"""The prompts of a tool server that a person can take into the message box: the list, and the text of one that they picked
(``tools.picks``)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from chatui.tools.mcp import prompts
from chatui.tools.mcp.prompts import Argument, Filled, ServerPrompt
from chatui.tools.mcp.server import McpServer
from chatui.tools.picks import NoSuchPickError, asked, opened, signed


def listed(name: str, person_id: UUID) -> list[tuple[ServerPrompt, str]]:
    """The prompts of this server as they are for this person, each with its token. Raises ServerError if it could not be asked."""
    place = (person_id, name)

    async def read(server: McpServer) -> list[ServerPrompt]:
        return await asyncio.to_thread(prompts.listed, await server.prompts())

    return [(each, signed("prompt", place, _for_token(each))) for each in asked(place, "prompts", read)]


def _for_token(prompt: ServerPrompt) -> list[Any]:
    """What a token says of a prompt: no words for people, which would make it long."""
    return [prompt.remote, [[each.remote, each.is_required] for each in prompt.arguments]]


def filled(name: str, person_id: UUID, token: str, values: Sequence[str]) -> Filled:
    """The text of the prompt that the person picked. ``values``: of its arguments, in their order.

    Raises:
        NoSuchPickError: see there.
        ServerError: the server could not be asked, or gave no text.
    """
    place = (person_id, name)
    remote, fields = opened("prompt", place, token)
    picked = ServerPrompt(remote, "", arguments=tuple(Argument(each, "", is_required=is_required) for each, is_required in fields))
    try:
        arguments = prompts.arguments(picked, values)
    except ValueError:
        raise NoSuchPickError from None

    async def read(server: McpServer) -> Filled:
        answer = await server.ask("prompts/get", {"name": remote, "arguments": arguments})
        return await asyncio.to_thread(prompts.filled, answer)

    return asked(place, "prompts", read)
