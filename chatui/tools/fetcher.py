"""Fetches one page, with limits on its address, redirects, size and time. No cookies, no proxies, no state.

Only public IP addresses are connected to, and an IPv4 address that is embedded in an IPv6 one is judged as well. A name is resolved once,
all of its addresses are checked, and one of them is connected to, so that a second DNS answer cannot change the target. Messages of errors
do not distinguish a closed port from a silent one, so that a model cannot scan the network. A URL that two programs could read differently
is refused, not repaired.
"""

from __future__ import annotations

import asyncio
import re
import socket
import zlib
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

import httpcore
import httpx

from chatui.backends import route
from chatui.documents.inside.html import URL_CHARS, joined
from chatui.documents.kinds import PDF
from chatui.env import environment
from chatui.json_requests import tls
from chatui.tools import rules

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
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        if found.scope_id is not None:
            return False
        embedded = next((bits for network, bits in _IPV4_EMBEDDING if found in network), None)
        if embedded is not None:
            found = IPv4Address(int(found) >> embedded & 0xFFFFFFFF)
    is_special = found.is_multicast or found.is_reserved or found.is_unspecified
    return found.is_global and not is_special and not any(found in network for network in _NOT_PUBLIC)


Resolver = Callable[[str, int], Awaitable[list[str]]]
MAX_ADDRESSES = 4


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, from the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


@dataclass(frozen=True, slots=True)
class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only. Tests, which have no public address, set ``resolver`` and ``permits``."""

    resolver: Resolver = look_up
    permits: Callable[[str], bool] = is_public

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface of httpcore
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to one of the host's addresses. A host with any address that is not public is refused as a whole."""
        addresses = await self._addresses(host, port)
        if not addresses or not all(map(self.permits, addresses)):
            raise httpcore.ConnectError
        network = httpcore.AnyIOBackend()
        for address in addresses[:MAX_ADDRESSES]:
            try:
                return await network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        raise httpcore.ConnectError

    async def _addresses(self, host: str, port: int) -> list[str]:
        bare = host.strip("[]")
        try:
            return [str(ip_address(bare))]
        except ValueError:
            pass
        try:
            return await self.resolver(bare, port)
        except (OSError, UnicodeError):
            raise httpcore.ConnectError from None


class FetchError(Exception):
    """A page could not be fetched. The text is for the model, and reveals nothing about the network."""


ADDRESS_REFUSED = "This address cannot be opened here."
NOT_LOADED = "The page could not be loaded."
"""Of a forbidden network, an unknown name, and a refused, reset or slow connection: all look the same."""
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
        read = httpx.URL(address)
        return Target(read.scheme, read.raw_host.decode("ascii").lower(), read.port or PORTS[read.scheme], "").receiver
    except (httpx.InvalidURL, KeyError, UnicodeError):
        return ""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts that requests may be sent to. ``allowed``: if it is not empty, only these. A name includes its subdomains."""

    allowed: Collection[str] = ()
    denied: Collection[str] = ()

    def allows(self, host: str) -> bool:
        return not _is_listed(host, self.denied) and (not self.allowed or _is_listed(host, self.allowed))


def parse_target(url: str, ports: Collection[int] = (80, 443)) -> Target:
    """The target of an absolute URL.

    Raises:
        FetchError: it is not an http or https URL, has a user name or a port that is not allowed, or its host is neither a plain
            name nor an IP address.
    """
    if len(url) > URL_CHARS or not _PLAIN.fullmatch(url):
        raise FetchError(ADDRESS_REFUSED)
    try:
        seen, read = urlsplit(url), httpx.URL(url)
        host, port = read.raw_host.decode("ascii").lower().removesuffix("."), read.port or PORTS[read.scheme]
        same = (seen.hostname or "").lower().removesuffix(".") == read.host.lower().removesuffix(".") or not seen.netloc.isascii()
    except (httpx.InvalidURL, ValueError, KeyError, UnicodeError):
        raise FetchError(ADDRESS_REFUSED) from None
    if read.userinfo or "@" in seen.netloc or not same or port not in ports or not _is_host(host):
        raise FetchError(ADDRESS_REFUSED)
    return Target(read.scheme, host, port, read.raw_path.decode("ascii"))


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


def address_problem(url: str) -> str:
    """Why staff may not give this address to a service in Administration, as the end of a sentence; empty if they may.

    It must be public and begin with https, unless the operator's settings name its host (``CHATUI_TOOLS_PRIVATE_HOSTS``). What the name
    resolves to is judged when it is connected to (``transport_to``).
    """
    if route.address_problem(url) or len(url) > rules.ADDRESS_CHARS:
        return route.address_problem(url) or "is too long"
    if is_private_by_setting(url):
        return ""
    try:
        target = parse_target(url, range(1, 65_536))
    except FetchError:
        return "is in a private network. Only hosts that CHATUI_TOOLS_PRIVATE_HOSTS names may be there"
    if not is_public(target.host) and _is_number(target.host):
        return "is in a private network. Only hosts that CHATUI_TOOLS_PRIVATE_HOSTS names may be there"
    return "" if target.scheme == "https" else "must begin with https://"


def _is_number(host: str) -> bool:
    try:
        return bool(ip_address(host.strip("[]")))
    except ValueError:
        return False


def is_private_by_setting(url: str) -> bool:
    """Whether the operator's settings name this host, with this port or with none, as one that may be in a private network."""
    host = urlsplit(url).netloc.lower()
    return any(name.lower() in (host, host.rpartition(":")[0]) for name in environment().tools_private_hosts)


class GuardedTransport(httpx.AsyncHTTPTransport):
    """Connects to public addresses only, see ``CheckedNetwork``. No proxies, no redirects."""

    def __init__(self, network: CheckedNetwork) -> None:
        super().__init__(verify=tls(), trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(ssl_context=tls(), max_connections=None, network_backend=network)


def transport_to(url: str) -> httpx.AsyncBaseTransport:
    """For requests to an address that staff entered."""
    return GuardedTransport(CheckedNetwork(permits=(lambda _address: True) if is_private_by_setting(url) else is_public))


USER_AGENT = "Mozilla/5.0 (compatible; chatui)"
_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_SUCCESS = range(200, 300)
_TYPES = re.compile(r"text/(?:html|plain|markdown|csv|xml|json)|application/(?:pdf|(?:[\w.-]+\+)?(?:json|xml)|(?:x-)?ndjson)")
"""What is read as text: HTML, plain text, JSON and XML with feeds of any name, and PDF."""
_OTHER_NAMES = {"application/x-pdf": PDF, "application/json-seq": "application/ndjson", "application/jsonlines": "application/ndjson"}
_UNTYPED = ("application/octet-stream", "binary/octet-stream", "application/force-download")
_ACCEPT = "text/html,application/xhtml+xml,text/plain,application/pdf,application/json;q=0.8,*/*;q=0.1"


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of a fetch. ``seconds``: for the whole fetch. ``bytes``: of the body as received, and also of the decompressed body; it is
    cut there. ``pdf_bytes``: of a PDF, which is refused if it is larger, because its end is needed."""

    seconds: float = 20.0
    bytes: int = 2_000_000
    pdf_bytes: int = 20_000_000
    ports: Collection[int] = (80, 443)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A fetched page. ``url``: after redirects. ``kind``: the media type, without parameters. ``is_cut``: the body was truncated."""

    url: str
    kind: str
    charset: str
    body: bytes = field(repr=False)
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches pages, each over its own connection."""

    hosts: Hosts = field(default_factory=Hosts)
    limits: FetchLimits = field(default_factory=FetchLimits)
    network: CheckedNetwork = field(default_factory=CheckedNetwork)

    async def fetch(self, url: str) -> FetchedPage:
        """The page at this address.

        Raises:
            FetchError: the address may not be requested, or the page could not be loaded, or is not text.
        """
        try:
            async with asyncio.timeout(self.limits.seconds):
                for _ in range(_MAX_REDIRECTS + 1):
                    found = await self._request(self.target(url))
                    if isinstance(found, FetchedPage):
                        return found
                    url = found
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError, TimeoutError, ValueError, zlib.error):
            raise FetchError(NOT_LOADED) from None
        raise FetchError("The page redirects too often.")

    def target(self, url: str) -> Target:
        """Where the request for this address goes. Raises FetchError: the address may not be requested."""
        target = parse_target(url, self.limits.ports)
        if not self.hosts.allows(target.host):
            raise FetchError(ADDRESS_REFUSED)
        return target

    async def _request(self, target: Target) -> FetchedPage | str:
        """The page, or the address that it redirects to."""
        named = {"Host": target.receiver, "User-Agent": USER_AGENT, "Accept": _ACCEPT, "Accept-Encoding": "identity"}
        headers: list[tuple[bytes | str, bytes | str]] = list(named.items())
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), self.limits.seconds)
        async with (
            httpcore.AsyncConnectionPool(ssl_context=tls(), max_connections=1, network_backend=self.network) as pool,
            pool.stream("GET", target.url, headers=headers, extensions={"timeout": timeouts}) as response,
        ):
            named = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
            if response.status in _REDIRECTS and "location" in named:
                if not (following := joined(target.url, named["location"])):
                    raise FetchError(ADDRESS_REFUSED)
                return following
            if response.status not in _SUCCESS:
                raise FetchError(f"The server answered with the status {response.status}.")
            kind, charset = _kind(named.get("content-type", "text/plain"), target.path)
            if not _TYPES.fullmatch(kind):
                raise FetchError("This content cannot be read as text.")
            most = self.limits.pdf_bytes if kind == PDF else self.limits.bytes
            body, is_cut = await self._body(response, named.get("content-encoding", "identity").strip().lower(), most)
            if is_cut and kind == PDF:
                raise FetchError(f"This PDF is larger than {most / 1_000_000:g} MB, and is not read.")
            return FetchedPage(target.url, kind, charset, body, is_cut)

    async def _body(self, response: httpcore.Response, encoding: str, most: int) -> tuple[bytes, bool]:
        """The body up to ``most`` bytes, and whether there was more. It is decompressed piece by piece, never beyond the limit."""
        unpack = _unpacker(encoding)
        taken, body = 0, bytearray()
        async for chunk in response.aiter_stream():
            taken += len(chunk)
            body += unpack(chunk, most + 1 - len(body))
            if len(body) > most or taken > most:
                return bytes(body[:most]), True
        return bytes(body), False


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    if encoding in ("", "identity"):
        return lambda chunk, most: chunk[:most]
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise FetchError("The server compressed the page in an unsupported way.")
    opened = zlib.decompressobj(zlib.MAX_WBITS | 32)
    return lambda chunk, most: opened.decompress(chunk, max(most, 1))


def _kind(content_type: str, path: str) -> tuple[str, str]:
    """The media type and the charset. ``path``: many servers send a PDF without a type."""
    kind, *parameters = (part.strip() for part in content_type.split(";"))
    charset = next((each.partition("=")[2].strip("\"' ") for each in parameters if each.lower().startswith("charset=")), "")
    kind = _OTHER_NAMES.get(kind.lower(), kind.lower())
    return PDF if kind in _UNTYPED and path.partition("?")[0].lower().endswith(".pdf") else kind, charset
