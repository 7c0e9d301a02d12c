"""Determines a visitor's address and the public address of a page behind reverse proxies, for HTTP requests and WebSockets, and tells the
operator of a proxy or an origin that is set up wrongly: one line for each fault, because it occurs with every page.
"""

from __future__ import annotations

import logging
import time
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from django.http import HttpRequest

from chatui.env import environment

log = logging.getLogger(__name__)

MAX_LINES = 20
"""The most faults of a kind that a process reports: origins are written by strangers."""
MEMORY_SECONDS = 60.0
"""For how long a handshake that a proxy has spoilt counts."""


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """The network address in a text; None if it is none, such as a name, or what the peer of a Unix socket has."""
    try:
        parsed = ip_address(text)
    except ValueError:
        return None
    # A server that listens on both kinds of address sees an IPv4 peer as ::ffff:10.0.0.1.
    return getattr(parsed, "ipv4_mapped", None) or parsed


def is_trusted(address: str) -> bool:
    """Whether this is the address of a proxy that the operator listed, by itself or as part of a network."""
    parsed = address_of(address)
    return parsed is not None and any(parsed in network for network in environment().trusted_proxies)


def visitor_address(peer: str, forwarded: str) -> str:
    """The visitor's address: ``peer``, unless that is a trusted proxy; then the last address in ``forwarded`` that is not one.

    ``forwarded`` is the value of X-Forwarded-For, to which each proxy appends the address that it saw. Anything further left was written
    by the visitor, who may claim anything, so it is not read.
    """
    hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
    address = peer
    while hops and is_trusted(address):
        hop = hops.pop()
        if address_of(hop) is None:
            break  # only what the nearest proxy saw is known
        address = hop
    return address


def public_address(request: HttpRequest, path: str) -> str:
    """The public address of ``path``: at the origin of the request if the operator named it, or else at the first that they named.

    A link that staff pass on, and what a provider has registered, must not depend on the host by which somebody opened the page.
    """
    origins, own = environment().origins, f"{request.scheme}://{request.get_host()}"
    return f"{own if own in origins or not origins else origins[0]}{path}"


def is_only_here(request: HttpRequest) -> bool:
    """Whether links to this site work on this computer alone, since people open it at localhost or a loopback address."""
    return is_this_computer(urlsplit(public_address(request, "")).hostname or "")


def is_this_computer(host: str) -> bool:
    """Whether this host name always means the computer of the browser that opens it (RFC 6761: ``localhost`` and what is below it)."""
    address = address_of(host)
    return host == "localhost" or host.endswith(".localhost") or (address is not None and address.is_loopback)


def public_host(host: str) -> str:
    """The host and port that people use, for a request with this Host header. If it lacks the port of an origin, or has the process's own
    port, they are those of the only origin with that name; otherwise they are ``host``."""
    places = {urlsplit(origin).netloc for origin in environment().origins}
    if host in places:
        return host
    named = [place for place in places if urlsplit(f"//{place}").hostname == _name_in(host)]
    return named[0] if len(named) == 1 else host


def _name_in(host: str) -> str | None:
    try:
        split = urlsplit(f"//{host}")
    except ValueError:
        return None
    return None if split.username or split.path else split.hostname


class SetupFaults:
    """What was found wrong in front of this process."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()
        self._spoilt_at = float("-inf")

    def note_untrusted(self, peer: str) -> None:
        """A proxy that is not trusted says that a page was requested by HTTPS. To send it to HTTPS would send it to itself, for ever."""
        self._say("%s passes on X-Forwarded-Proto, but is not in CHATUI_TRUSTED_PROXIES, so no page can be opened by HTTPS", peer)

    def note_spoilt(self, header: str) -> None:
        """The handshake of a WebSocket came without this header."""
        self._spoilt_at = time.monotonic()
        self._say("a proxy does not pass on the header %s to /ws/, so no page gets a connection (docs/operating/https.md)", header)

    def note_origin(self, origin: str) -> None:
        """A socket was refused for its origin."""
        allowed = ", ".join(environment().origins) or "only the address that the server itself is asked for"
        self._say("a page of %s was refused its connection; allowed (CHATUI_ORIGINS): %s", origin, allowed)

    @property
    def spoils_sockets(self) -> bool:
        """Whether a proxy has spoilt a handshake a short while ago."""
        return time.monotonic() - self._spoilt_at < MEMORY_SECONDS

    def _say(self, words: str, named: str, *more: str) -> None:
        if (words, named) not in self._logged and sum(logged == words for logged, _ in self._logged) < MAX_LINES:
            self._logged.add((words, named))
            log.warning(words, ascii(named)[1:-1][:200], *more)


setup_faults = SetupFaults()
"""Those of this process."""
