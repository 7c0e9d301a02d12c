"""What a person picks of what a tool server showed them, and how the server is asked for it.

Everything here is called in a thread, by pages; requests run on the event loop of the tools. A pick is a signed token of what the person
was shown, so that nobody can make a server return something that it did not list to them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

from django.core import signing

from chatui.database.connections import release_request_connection
from chatui.tools import server_registry
from chatui.tools.execution import tools_loop
from chatui.tools.mcp.messages import ServerRefusedError
from chatui.tools.mcp.server import McpServer
from chatui.tools.remote.definition import McpSpec
from chatui.tools.remote.offers import Moment, ServerError
from chatui.tools.server_registry import ServerConnection

log = logging.getLogger(__name__)
T = TypeVar("T")

Place = tuple[UUID, str]
"""The person, and the name of the server."""
PICK_SECONDS = 24 * 3600
"""How long what was shown can be picked."""
_SALT = "tool server picks"


class NoSuchPickError(Exception):
    """This is nothing that the person was shown of this server, or not lately; or the values that they filled in cannot be used."""


def signed(kind: str, place: Place, what: Any) -> str:
    """The token of a thing (``what``, as JSON) of this kind that the person is shown of the server."""
    return signing.dumps([kind, *_bound(place), what], salt=_SALT)


def opened(kind: str, place: Place, token: str) -> Any:
    """What ``signed`` made into this token. Raises NoSuchPickError."""
    try:
        *of, what = signing.loads(token, salt=_SALT, max_age=PICK_SECONDS)
    except (signing.BadSignature, ValueError):
        raise NoSuchPickError from None
    if of != [kind, *_bound(place)]:
        raise NoSuchPickError
    return what


def asked(place: Place, what: str, work: Callable[[McpServer], Awaitable[T]]) -> T:
    """What ``work`` returns, as this person at this server (``ServerConnection.asked_apart``). ``what``: is read, for the log.

    Raises:
        ServerError: the server could not be asked, or refused.
    """
    person_id, name = place
    connection, _ = _connection(name)
    release_request_connection()
    try:
        return asyncio.run_coroutine_threadsafe(connection.asked_apart(person_id, work), tools_loop()).result()
    except ServerRefusedError:
        raise ServerError(f"the server refused to give its {what}", Moment.NOT_RUN) from None
    except ServerError as error:
        log.warning("tool server %s: its %s could not be read: %s", name, what, str(error))
        raise


def _bound(place: Place) -> list[str]:
    """The person and the server, which is another one at another address."""
    person_id, name = place
    _, spec = _connection(name)
    return [str(person_id), f"{spec.identity} {spec.place}"]


def _connection(name: str) -> tuple[ServerConnection, McpSpec]:
    found = server_registry.connection(name)
    if found is None or not isinstance(found.spec, McpSpec):
        raise ServerError("it is not connected any more", Moment.NOT_RUN)
    return found, found.spec
