"""Fetches one page, with limits on its address, redirects, size and time. No cookies, no proxies, no state.

Only public IP addresses are connected to (``outbound``). Messages of errors do not distinguish a closed port from a silent one, so that a
model cannot scan the network.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field

from chatui.documents.inside.html import absolute_url
from chatui.documents.kinds import PDF
from chatui.outbound import requests
from chatui.outbound.addresses import AddressError, Target, parse_target
from chatui.outbound.connections import USER_AGENT
from chatui.outbound.public_network import CheckedNetwork, GuardedTransport


class FetchError(Exception):
    """A page could not be fetched. The text is for the model, and reveals nothing about the network."""


ADDRESS_REFUSED = "This address cannot be opened here."
NOT_LOADED = "The page could not be loaded."
"""Said for a forbidden network, an unknown name, and a refused, reset or slow connection: all look the same."""
_MAX_REDIRECTS = 5
_TYPES = re.compile(r"text/(?:html|plain|markdown|csv|xml|json)|application/(?:pdf|(?:[\w.-]+\+)?(?:json|xml)|(?:x-)?ndjson)")
"""What is read as text: HTML, plain text, JSON and XML with feeds of any name, and PDF."""
_OTHER_NAMES = {"application/x-pdf": PDF, "application/json-seq": "application/ndjson", "application/jsonlines": "application/ndjson"}
_UNTYPED = ("application/octet-stream", "binary/octet-stream", "application/force-download")
_ACCEPT = "text/html,application/xhtml+xml,text/plain,application/pdf,application/json;q=0.8,*/*;q=0.1"


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts that requests may be sent to. ``allowed``: if it is not empty, only these. A name includes its subdomains."""

    allowed: Collection[str] = ()
    denied: Collection[str] = ()

    def allows(self, host: str) -> bool:
        return not _is_listed(host, self.denied) and (not self.allowed or _is_listed(host, self.allowed))


def _is_listed(host: str, names: Collection[str]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in (each.lower().strip(".") for each in names) if name)


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of a fetch."""

    seconds: float = 20.0
    """For the whole fetch."""
    bytes: int = 2_000_000
    """The most bytes of the body as received, and also of the decompressed body, which is cut there."""
    pdf_bytes: int = 20_000_000
    """The most bytes of a PDF, which is refused if it is larger, because its end is needed."""
    ports: Collection[int] = (80, 443)


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A fetched page."""

    url: str
    """After redirects."""
    kind: str
    """The media type, without parameters."""
    charset: str
    body: bytes = field(repr=False)
    is_cut: bool = False
    """Whether the body was truncated."""


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
        except (*requests.FAULTS, zlib.error):
            raise FetchError(NOT_LOADED) from None
        raise FetchError("The page redirects too often.")

    def target(self, url: str) -> Target:
        """Where the request for this address goes. Raises FetchError: the address may not be requested."""
        try:
            target = parse_target(url, self.limits.ports)
        except AddressError:
            raise FetchError(ADDRESS_REFUSED) from None
        if not self.hosts.allows(target.host):
            raise FetchError(ADDRESS_REFUSED)
        return target

    async def _request(self, target: Target) -> FetchedPage | str:
        """The page, or the address that it redirects to."""
        about = {"User-Agent": f"Mozilla/5.0 (compatible; {USER_AGENT})", "Accept": _ACCEPT}
        transport = GuardedTransport(self.network)
        async with requests.opened("GET", target.url, seconds=self.limits.seconds, headers=about, transport=transport) as response:
            named = response.headers
            if response.has_redirect_location:
                if not (following := absolute_url(target.url, named["location"])):
                    raise FetchError(ADDRESS_REFUSED)
                return following
            if not response.is_success:
                raise FetchError(f"The server answered with the status {response.status_code}.")
            kind, charset = _kind(named.get("content-type", "text/plain"), target.path)
            if not _TYPES.fullmatch(kind):
                raise FetchError("This content cannot be read as text.")
            most = self.limits.pdf_bytes if kind == PDF else self.limits.bytes
            body, is_cut = await _body(response.aiter_raw(), named.get("content-encoding", "identity").strip().lower(), most)
            if is_cut and kind == PDF:
                raise FetchError(f"This PDF is larger than {most / 1_000_000:g} MB, and is not read.")
            return FetchedPage(target.url, kind, charset, body, is_cut)


async def _body(chunks: AsyncIterator[bytes], encoding: str, most: int) -> tuple[bytes, bool]:
    """The body up to ``most`` bytes, and whether there was more. It is decompressed piece by piece, never beyond the limit."""
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise FetchError("The server compressed the page in an unsupported way.")
    opened = None if encoding in ("", "identity") else zlib.decompressobj(zlib.MAX_WBITS | 32)
    taken, body = 0, bytearray()
    async for chunk in chunks:
        taken += len(chunk)
        room = most + 1 - len(body)
        body += chunk[:room] if opened is None else opened.decompress(chunk, room)
        if len(body) > most or taken > most:
            return bytes(body[:most]), True
        if opened is not None and opened.eof:
            break  # what comes behind belongs to nothing, and would be copied with each further piece
    return bytes(body), False


def _kind(content_type: str, path: str) -> tuple[str, str]:
    """The media type and the charset. ``path``: many servers send a PDF without a type."""
    kind, *parameters = (part.strip() for part in content_type.split(";"))
    charset = next((each.partition("=")[2].strip("\"' ") for each in parameters if each.lower().startswith("charset=")), "")
    kind = _OTHER_NAMES.get(kind.lower(), kind.lower())
    return PDF if kind in _UNTYPED and path.partition("?")[0].lower().endswith(".pdf") else kind, charset
