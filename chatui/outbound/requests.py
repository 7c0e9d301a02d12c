"""A bounded request for JSON to a service of the operator's: a sign-in provider, a search engine, a Python service.

One deadline for everything, a limit in bytes, no redirects (credentials belong to this address), no compression (a small response could
inflate), a connection of its own (cancelling closes it).
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx

from chatui.outbound.addresses import is_public
from chatui.outbound.staff_addresses import is_private_by_setting
from chatui.outbound.tls import tls


class JsonRequestError(Exception):
    """There is no usable response. The text goes on after the name of the service, and quotes neither its address nor its response."""


async def request_json(
    method: str,
    url: str,
    *,
    seconds: float,
    max_bytes: int,
    uses_environment: bool = False,
    **content: Any,
) -> tuple[int, dict[str, Any] | None]:
    """The status and the JSON object of the response; None if it is no object.

    ``uses_environment``: variables such as HTTPS_PROXY and SSL_CERT_FILE count. ``content``: httpx's ``headers``, ``params``, ``json``,
    ``data``, ``auth`` and ``transport``.

    Raises:
        JsonRequestError: the service cannot be reached, or its response is too long or too slow.
    """
    transport = content.pop("transport", None)
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "chatui", **content.pop("headers", {})}
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(
                trust_env=uses_environment, verify=tls(uses_environment=uses_environment), timeout=seconds, transport=transport
            ) as client,
            client.stream(method, url, headers=headers, **content) as response,
        ):
            body = bytearray()
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > max_bytes:
                    raise JsonRequestError("sent a response that is too long")
    except TimeoutError:
        raise JsonRequestError("did not respond in time") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
        # Only the type: the messages of these errors may quote an address with its parameters.
        raise JsonRequestError(f"cannot be reached ({type(error).__name__})") from None
    return response.status_code, await asyncio.to_thread(_object, body)  # a long one takes a while


def _object(body: bytearray) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def transport_to(url: str) -> httpx.AsyncBaseTransport:
    """For requests to an address that staff entered."""
    from chatui.outbound.public_network import CheckedNetwork, GuardedTransport  # takes memory, and few servers need it

    return GuardedTransport(CheckedNetwork(permits=(lambda _address: True) if is_private_by_setting(url) else is_public))
