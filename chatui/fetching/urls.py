"""Parses URLs strictly: a URL that two programs could read differently is refused, not repaired."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urljoin, urlsplit

import httpx

from chatui.fetching.errors import AddressRefusedError

URL_CHARS = 2000
PORTS = {"http": 80, "https": 443}
_PLAIN = re.compile(r"https?://[^\s\\\x00-\x20\x7f-\xa0]+", re.IGNORECASE)
_HOST = re.compile(r"(?=.{1,253}\Z)(?:(?!-)[a-z0-9_-]{1,63}(?<!-)\.)*(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
_LOCAL = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "localdomain")
"""Names that are never on the public internet, or that clouds use for metadata. Addresses are checked as well."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a request. ``host``: in ASCII, without a trailing dot; an IPv6 address has no brackets."""

    scheme: str
    host: str
    port: int
    path: str
    """Includes the query; percent-encoded."""

    @property
    def url(self) -> str:
        """The address, without a fragment."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if PORTS.get(self.scheme) == self.port else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts that requests may be sent to. ``allowed``: if it is not empty, only these. A name includes its subdomains."""

    allowed: Collection[str] = ()
    denied: Collection[str] = ()

    def allows(self, host: str) -> bool:
        """Whether requests may be sent to this host."""
        if _is_listed(host, self.denied):
            return False
        return not self.allowed or _is_listed(host, self.allowed)


def parse_target(url: str, ports: Collection[int] = (80, 443)) -> Target:
    """The target of an absolute URL.

    Raises:
        AddressRefusedError: it is not an http or https URL, has a user name or a port that is not allowed, or its host is neither a plain
            name nor an IP address.
    """
    if len(url) > URL_CHARS or not _PLAIN.fullmatch(url):
        raise AddressRefusedError
    try:
        seen, read = urlsplit(url), httpx.URL(url)
        host, port = read.raw_host.decode("ascii").lower().removesuffix("."), read.port or PORTS[read.scheme]
        same = (seen.hostname or "").lower().removesuffix(".") == read.host.lower().removesuffix(".") or not seen.netloc.isascii()
    except (httpx.InvalidURL, ValueError, KeyError, UnicodeError):
        raise AddressRefusedError from None
    if read.userinfo or "@" in seen.netloc or not same or port not in ports or not _is_host(host):
        raise AddressRefusedError
    return Target(read.scheme, host, port, read.raw_path.decode("ascii"))


def resolve_link(base: str, reference: str) -> str | None:
    """The absolute URL of a link in a page, without its fragment; None if it is not an http or https URL."""
    try:
        found = urljoin(base, reference.strip()).partition("#")[0]
    except ValueError:
        return None
    return found if len(found) <= URL_CHARS and _PLAIN.fullmatch(found) else None


def _is_host(host: str) -> bool:
    try:
        return "%" not in host and bool(ip_address(host.strip("[]")))
    except ValueError:
        pass
    *_, last = host.split(".")
    # A name that ends in a number is an IP address in an unusual form (0x7f.1, 2130706433), which programs read differently.
    return _HOST.fullmatch(host) is not None and not _NUMBER.fullmatch(last) and last not in _LOCAL


def _is_listed(host: str, names: Collection[str]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in (each.lower().strip(".") for each in names) if name)
