"""Sends requests to a service that the operator configured, such as a search engine. Its address may be private, and its key is sent
nowhere else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

SECONDS = 15.0
MAX_BYTES = 1_000_000


class ServiceError(Exception):
    """The service failed. The text gives the reason, for the log, and quotes nothing from the response."""


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A request: a POST if it has a ``body``, otherwise a GET."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict, repr=False)
    body: Mapping[str, Any] | None = field(default=None, repr=False)


async def request_json(request: ServiceRequest, seconds: float = SECONDS) -> dict[str, Any]:
    """The JSON object in the service's response. Redirects are not followed: the key belongs to this address.

    Raises:
        ServiceError: the service did not return one.
    """
    method = "GET" if request.body is None else "POST"
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(trust_env=False, timeout=seconds, headers={"Accept-Encoding": "identity"}) as client,
            client.stream(method, request.url, headers=request.headers, params=request.params, json=request.body) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise ServiceError(f"HTTP {response.status_code}")
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise ServiceError("the response is too long")
        found = json.loads(body)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError, ValueError, RecursionError) as error:
        raise ServiceError(type(error).__name__) from None
    if not isinstance(found, dict):
        raise ServiceError("the response is not a JSON object")
    return found
