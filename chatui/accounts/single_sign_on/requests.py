"""Requests JSON from a provider, with one deadline, a size limit, and no redirects."""

from __future__ import annotations

import functools
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any

import httpx

from chatui.accounts.sign_in_rules.provider import is_safe_address
from chatui.accounts.single_sign_on.errors import BadSignInError, ProviderUnavailableError

SECONDS = 5.0
MAX_BYTES = 512 * 1024


def get(address: str, *, bearer: str = "") -> dict[str, Any]:
    """The JSON object at ``address``. Raises ProviderUnavailableError."""
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    status, found = _request("GET", address, headers=headers)
    if status != 200:
        raise ProviderUnavailableError(f"the provider responded with status {status}")
    return found


def post(address: str, fields: Mapping[str, str], auth: tuple[str, str] | None) -> dict[str, Any]:
    """Send a form and return the JSON object in the response.

    Raises ProviderUnavailableError, or BadSignInError if the provider refuses the request.
    """
    status, found = _request("POST", address, data=dict(fields), auth=auth)
    if status in (400, 401, 403):
        raise BadSignInError("the provider did not accept the code")
    if status != 200:
        raise ProviderUnavailableError(f"the provider responded with status {status}")
    return found


def _request(method: str, address: str, **options: Any) -> tuple[int, dict[str, Any]]:
    if not is_safe_address(address):
        raise ProviderUnavailableError("the provider's metadata has an address without https")
    try:
        with (
            httpx.Client(timeout=SECONDS, follow_redirects=False, verify=_tls()) as client,
            client.stream(method, address, **_with_accept(options)) as response,
        ):
            return response.status_code, _object(_body(response), response.status_code)
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        # Only the type: the messages of these errors may quote an address with its parameters.
        raise ProviderUnavailableError(f"the provider cannot be reached ({type(error).__name__})") from None


@functools.cache
def _tls() -> ssl.SSLContext:
    """A shared context: reading all certificates takes longer than most requests."""
    return httpx.create_ssl_context()


def _with_accept(options: dict[str, Any]) -> dict[str, Any]:
    return options | {"headers": {**options.get("headers", {}), "Accept": "application/json"}}


def _body(response: httpx.Response) -> bytes:
    until, body = time.monotonic() + SECONDS, b""
    for part in response.iter_bytes():
        body += part
        if len(body) > MAX_BYTES or time.monotonic() > until:
            raise ProviderUnavailableError("the provider's response is too long or too slow")
    return body


def _object(body: bytes, status: int) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    if status == 200:
        raise ProviderUnavailableError("the provider's response is not a JSON object")
    return {}
