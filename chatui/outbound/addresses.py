"""Which addresses may be asked, and where a request to each goes. What two programs could read differently is refused, not repaired."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

import httpx

PORTS = {"http": 80, "https": 443}
MAX_CHARS = 2000
# Parsers read these characters differently, so a request could go to another server than the one that was checked.
_ADDRESS = re.compile(r"[!-~]+")
_AMBIGUOUS = re.compile(r"[\\\"<>^`{|}]")


def origin(url: str) -> str:
    """Scheme, host and port of an address, exactly as requests use them.

    Raises:
        ValueError: it is not an http address.
    """
    if problem := address_problem(url):
        raise ValueError(problem)
    parts = httpx.URL(url)
    return f"{parts.scheme}://{parts.raw_host.decode('ascii').lower()}:{parts.port or PORTS[parts.scheme]}"


def address_problem(url: str) -> str:
    """Why no server of the operator's can have this address, as words that follow its name; empty if it can."""
    if not _ADDRESS.fullmatch(url) or _AMBIGUOUS.search(url):
        return "must be a plain address without spaces or special characters"
    try:
        parts, second = httpx.URL(url), urlsplit(url)
        is_agreed = bool(parts.host) and (parts.scheme, parts.raw_host.decode("ascii")) == (second.scheme, second.hostname)
        port = second.port
    except (httpx.InvalidURL, ValueError):  # the second also for an invalid host name
        return "is no address"
    if parts.scheme not in PORTS or not url.lower().startswith(f"{parts.scheme}://") or not parts.host:
        return "must begin with http:// or https:// and name a host"
    if "@" in second.netloc:
        return "must hold no user name or password; name the key instead"
    if not is_agreed or "%" in second.netloc or (port is not None and parts.port != port and PORTS[parts.scheme] != port):
        return "is no address"
    if "?" in url or "#" in url:
        return "must have neither ? nor #"
    return ""


_IPV4_EMBEDDING = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("::/96"), 0),  # compatible, and the loopback and unspecified addresses
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)
"""IPv6 networks whose addresses embed an IPv4 address, and the number of bits after that address."""
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),
            *("64:ff9b:1::/48", "2001::/32", "fec0::/10", "100::/64", "5f00::/16", "3fff::/20"),
        ),
    )
)
"""This network, carrier-grade NAT, Azure's host (a public address that leads to the machine's own settings), protocol assignments (metadata
on some clouds), 6to4 relays and benchmarks; local NAT64, Teredo, site-local, discard-only, segment routing and documentation. Not all
versions of Python recognize all of them."""


def is_public(address: str) -> bool:
    """Whether this is a public internet address: not private, link-local, loopback, multicast, reserved or for metadata."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        if ip.scope_id is not None:
            return False
        embedded = next((bits for network, bits in _IPV4_EMBEDDING if ip in network), None)
        if embedded is not None:
            ip = IPv4Address(int(ip) >> embedded & 0xFFFFFFFF)
    is_special = ip.is_multicast or ip.is_reserved or ip.is_unspecified
    return ip.is_global and not is_special and not any(ip in network for network in _NOT_PUBLIC)


_PLAIN = re.compile(r"https?://[^\s\\\x00-\x20\x7f-\xa0]+", re.IGNORECASE)
_HOST = re.compile(r"(?=.{1,253}\Z)(?:(?!-)[a-z0-9_-]{1,63}(?<!-)\.)*(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
_LOCAL = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "localdomain")
"""Names that are never on the public internet, or that clouds use for metadata. Addresses are checked as well."""


class AddressError(Exception):
    """This address may not be asked, or is none."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a request. ``host``: in ASCII, without a trailing dot; an IPv6 address has no brackets."""

    scheme: str
    host: str
    port: int
    path: str
    """Includes the query; percent-encoded."""

    @property
    def receiver(self) -> str:
        """The host that receives the request, to judge it by: in letters that look like no others (``xn--…``), with its port if that is not
        the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if PORTS.get(self.scheme) == self.port else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address, without a fragment."""
        return f"{self.scheme}://{self.receiver}{self.path}"


def receiver(address: str) -> str:
    """The host that receives the request, as a person judges it: in letters that look like no others (``xn--…``), with its port if that is
    not the usual one."""
    try:
        parsed = httpx.URL(address)
        return Target(parsed.scheme, parsed.raw_host.decode("ascii").lower(), parsed.port or PORTS[parsed.scheme], "").receiver
    except (httpx.InvalidURL, KeyError, UnicodeError):
        return ""


def parse_target(url: str, ports: Collection[int] = (80, 443)) -> Target:
    """The target of an absolute URL.

    Raises:
        AddressError: it is not an http or https URL, has a user name or a port that is not allowed, or its host is neither a plain
            name nor an IP address.
    """
    if len(url) > MAX_CHARS or not _PLAIN.fullmatch(url):
        raise AddressError
    try:
        parsed, second_opinion = httpx.URL(url), urlsplit(url)
        host, port = _without_dot(parsed.raw_host.decode("ascii")), parsed.port or PORTS[parsed.scheme]
        # An address that two parsers read differently would be judged by one host and asked at another. Only the first knows other
        # letters than ASCII as they are sent.
        is_one_host = _without_dot(second_opinion.hostname or "") == _without_dot(parsed.host) or not second_opinion.netloc.isascii()
    except (httpx.InvalidURL, ValueError, KeyError, UnicodeError):
        raise AddressError from None
    if parsed.userinfo or "@" in second_opinion.netloc or not is_one_host or port not in ports or not _is_host(host):
        raise AddressError
    return Target(parsed.scheme, host, port, parsed.raw_path.decode("ascii"))


def _without_dot(host: str) -> str:
    """In small letters, without the dot at the end that means the same host."""
    return host.lower().removesuffix(".")


def _is_host(host: str) -> bool:
    try:
        return "%" not in host and bool(ip_address(host.strip("[]")))
    except ValueError:
        pass
    *_, last = host.split(".")
    # A name that ends in a number is an IP address in an unusual form (0x7f.1, 2130706433), which programs read differently.
    return _HOST.fullmatch(host) is not None and not _NUMBER.fullmatch(last) and last not in _LOCAL


def is_number(host: str) -> bool:
    """Whether a host is an IP address, not a name."""
    try:
        return bool(ip_address(host.strip("[]")))
    except ValueError:
        return False
