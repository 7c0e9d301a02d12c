"""The requests of a sign-in at a tool server: bounded, without redirects, and only to addresses that may be asked.

A tool server's metadata names the addresses, so a hostile one could have us ask anything that this machine can reach. The origins that the
operator named may be asked as they are; all others only by https, and only if their name leads to public addresses alone. The
connection goes to the address that was checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from chatui.outbound import requests
from chatui.outbound.addresses import MAX_CHARS, AddressError, origin, parse_target
from chatui.outbound.public_network import CheckedNetwork, GuardedTransport
from chatui.outbound.staff_addresses import is_private_by_setting
from chatui.tools.remote.definition import ServerSpec
from chatui.tools.remote.exchange import HttpRequest

SECONDS = 10.0
MAX_BYTES = 256 * 1024
_ALL_PORTS = range(1, 65_536)
_JSON = {"Content-Type": "application/json"}


class SignInError(Exception):
    """A sign-in failed. The text is ours, for the operator: it names no address, and quotes nothing that was received."""


class UnavailableError(SignInError):
    """A server could not be reached, or its answer cannot be used now. Trying again may help."""


@dataclass(frozen=True, slots=True)
class DoorAnswer:
    """What a server that belongs to a sign-in answered."""

    status: int
    json_object: Mapping[str, Any] = field(repr=False)
    """The JSON object; empty if there is none."""
    challenges: tuple[str, ...] = field(default=(), repr=False)
    """Each ``WWW-Authenticate``."""


@dataclass(frozen=True, slots=True)
class Door:
    """Which addresses a sign-in may ask, and how."""

    named: frozenset[str]
    """The origins that the operator named."""
    is_wide: bool = False
    """Whether the operator allows private networks and http."""
    network: CheckedNetwork = field(default_factory=CheckedNetwork, repr=False)
    """How all other addresses are connected to; tests, which have no public address, have another."""
    seconds: float = SECONDS

    def checked(self, url: object, what: str) -> str:
        """The address, if it may be asked or, in a browser, opened. ``what``: names it in the error. Raises SignInError."""
        if not isinstance(url, str) or len(url) > MAX_CHARS or not url.isascii() or not url.isprintable() or set('#"<>\\ ') & set(url):
            raise SignInError(f"{what} is no address")
        try:
            place = origin(url)
        except ValueError:
            raise SignInError(f"{what} is no http or https address") from None
        if "@" in url.split("/")[2]:
            raise SignInError(f"{what} has a user name")
        if place in self.named or self.is_wide:
            return url
        if not url.startswith("https://"):
            raise SignInError(f"{what} is an address without https that the operator did not name")
        try:
            parse_target(url, _ALL_PORTS)
        except AddressError:
            raise SignInError(f"{what} is an address that may not be asked") from None
        return url

    async def get(self, url: str, what: str) -> DoorAnswer:
        """What is at the address. ``what``: names it in errors.

        Raises:
            SignInError: the address may not be asked.
            UnavailableError: it cannot be reached, or its answer is too slow or too long.
        """
        return await self._ask(HttpRequest("GET", url, {}), what)

    async def post_json(self, url: str, what: str, value: object) -> DoorAnswer:
        """Raises as ``get``."""
        return await self._ask(HttpRequest("POST", url, _JSON, json.dumps(value).encode()), what)

    async def knock(self, url: str, what: str, value: object, headers: Mapping[str, str]) -> DoorAnswer:
        """As ``post_json``, for an answer of which only the status and the challenges matter: nothing else is read."""
        return await self._ask(HttpRequest("POST", url, {**_JSON, **headers}, json.dumps(value).encode()), what, most=0)

    async def post_form(self, url: str, what: str, fields: Mapping[str, str], headers: Mapping[str, str]) -> DoorAnswer:
        """Raises as ``get``."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self._ask(HttpRequest("POST", url, {**kind, **headers}, urlencode(fields).encode()), what)

    async def _ask(self, ask: HttpRequest, what: str, most: int = MAX_BYTES) -> DoorAnswer:
        url, read = self.checked(ask.url, what), b""
        transport = None if self.is_wide or origin(url) in self.named else GuardedTransport(self.network)
        try:
            async with requests.opened(
                ask.method, url, seconds=self.seconds, headers=ask.headers, transport=transport, content=ask.body or None
            ) as response:
                # What a redirect says is not read: it would lead elsewhere.
                if most and not response.is_redirect:
                    read, is_cut = await requests.body_of(response, most)
                    if is_cut:
                        raise UnavailableError(f"{what} sent an answer that is too long")
                challenges = response.headers.get_list("www-authenticate")
        except TimeoutError:
            raise UnavailableError(f"{what} did not answer in time") from None
        except requests.FAULTS:
            # A closed port, a silent one and a forbidden network all look the same.
            raise UnavailableError(f"{what} cannot be reached") from None
        return DoorAnswer(response.status_code, requests.json_object(read) or {}, tuple(challenges))


def door_of(spec: ServerSpec, url: str) -> Door:
    """The door for a server's sign-in. ``url``: the server's. What staff entered is not what the operator named."""
    oauth = spec.oauth
    issuer = oauth.issuer if oauth else ""
    named = (each for each in (url, issuer) if each and (not spec.place or is_private_by_setting(each)))
    return Door(frozenset(map(origin, named)), is_wide=bool(oauth and oauth.private_addresses))
