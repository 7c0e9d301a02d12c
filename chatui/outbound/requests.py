"""One bounded request: one deadline for everything, no redirects (credentials belong to this address), no compression (a small response
could inflate), a connection of its own (cancelling closes it, and no cookie stays).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from chatui.outbound.addresses import is_public
from chatui.outbound.connections import USER_AGENT, tls
from chatui.outbound.staff_addresses import is_private_by_setting
from renderer.strict_json import JsonError, loads_bounded

MAX_MARKS = 100_000
"""The most strings, commas and opening brackets of a response that is read."""

FAULTS = (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError)
"""What ``opened`` and ``body_of`` raise, beside the TimeoutError of the deadline. Their messages may quote an address."""


@asynccontextmanager
async def opened(
    method: str,
    url: str,
    *,
    seconds: float,
    transport: httpx.AsyncBaseTransport | None = None,
    uses_environment: bool = False,
    **content: Any,
) -> AsyncIterator[httpx.Response]:
    """The response, whose body is read with ``body_of`` within ``seconds``, too.

    ``transport``: see ``transport_to``; None for a host that the operator named. ``uses_environment``: variables such as HTTPS_PROXY and
    SSL_CERT_FILE count. ``content``: httpx's ``headers``, ``params``, ``content``, ``json``, ``data`` and ``auth``.

    Raises TimeoutError and ``FAULTS``.
    """
    sent = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": USER_AGENT, **content.pop("headers", {})}
    certificates = tls(uses_environment=uses_environment)
    async with (
        asyncio.timeout(seconds),
        httpx.AsyncClient(trust_env=uses_environment, verify=certificates, timeout=seconds, transport=transport) as client,
        client.stream(method, url, headers=sent, **content) as response,
    ):
        yield response


async def body_of(response: httpx.Response, most: int) -> tuple[bytes, bool]:
    """The body up to ``most`` bytes as it was sent, and whether there was more. Raises as ``opened``."""
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > most:
            break
    return bytes(body[:most]), len(body) > most


class JsonRequestError(Exception):
    """There is no usable response. The text goes on after the name of the service, and quotes neither its address nor its response."""


async def request_json(method: str, url: str, *, seconds: float, max_bytes: int, **how: Any) -> tuple[int, dict[str, Any] | None]:
    """The status and the JSON object of the response; None if it is no object. ``how``: as for ``opened``.

    Raises:
        JsonRequestError: the service cannot be reached, or its response is too long or too slow.
    """
    try:
        async with opened(method, url, seconds=seconds, **how) as response:
            body, is_cut = await body_of(response, max_bytes)
    except TimeoutError:
        raise JsonRequestError("did not respond in time") from None
    except FAULTS as error:
        # Only the type: the messages of these errors may quote an address with its parameters.
        raise JsonRequestError(f"cannot be reached ({type(error).__name__})") from None
    if is_cut:
        raise JsonRequestError("sent a response that is too long")
    return response.status_code, await asyncio.to_thread(json_object, body)  # a long one takes a while


def json_object(body: bytes) -> dict[str, Any] | None:
    """The object that the body is, in JSON; None if it is none, or has more than ``MAX_MARKS``."""
    try:
        found = loads_bounded(body, MAX_MARKS)
    except JsonError:
        return None
    return found if isinstance(found, dict) else None


def transport_to(url: str) -> httpx.AsyncBaseTransport:
    """For requests to an address that staff entered."""
    from chatui.outbound.public_network import CheckedNetwork, GuardedTransport  # takes memory, and few servers need it

    return GuardedTransport(CheckedNetwork(permits=(lambda _address: True) if is_private_by_setting(url) else is_public))
