"""The addresses of services that staff enter in Administration: public ones, and the private hosts that the operator's settings name."""

from __future__ import annotations

from urllib.parse import urlsplit

from chatui.env import environment
from chatui.outbound.addresses import AddressError, address_problem, is_number, is_public, parse_target

STAFF_CHARS = 300
"""The most characters of an address that staff enter."""


def staff_address_problem(url: str) -> str:
    """Why staff may not give this address to a service in Administration, as the end of a sentence; empty if they may.

    It must be public and begin with https, unless the operator's settings name its host (``CHATUI_TOOLS_PRIVATE_HOSTS``). What the name
    resolves to is judged when it is connected to (``requests.transport_to``).
    """
    if address_problem(url) or len(url) > STAFF_CHARS:
        return address_problem(url) or "is too long"
    if is_private_by_setting(url):
        return ""
    try:
        target = parse_target(url, range(1, 65_536))
    except AddressError:
        return "is in a private network. Only hosts that CHATUI_TOOLS_PRIVATE_HOSTS names may be there"
    if not is_public(target.host) and is_number(target.host):
        return "is in a private network. Only hosts that CHATUI_TOOLS_PRIVATE_HOSTS names may be there"
    return "" if target.scheme == "https" else "must begin with https://"


def is_private_by_setting(url: str) -> bool:
    """Whether the operator's settings name this host, with this port or with none, as one that may be in a private network."""
    host = urlsplit(url).netloc.lower()
    return any(name.lower() in (host, host.rpartition(":")[0]) for name in environment().tools_private_hosts)
