"""Fetches one page, with limits on its address, redirects, size and time. No cookies, no proxies, no state."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache

import httpcore
import httpx

from chatui.fetching import urls
from chatui.fetching.addresses import is_public
from chatui.fetching.errors import AddressRefusedError, FetchError, NotLoadedError
from chatui.fetching.network import CheckedNetwork, Resolver, look_up
from chatui.fetching.urls import Hosts, Target

USER_AGENT = "Mozilla/5.0 (compatible; chatui)"
_REDIRECTS = (301, 302, 303, 307, 308)
_SUCCESS = range(200, 300)
_TYPES = (
    *("text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/csv"),
    *("application/json", "application/xml", "text/xml"),
)
_ACCEPT = "text/html,application/xhtml+xml,text/plain,application/json;q=0.8,*/*;q=0.1"


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of a fetch. ``seconds``: for the whole fetch. ``bytes``: of the body as received, and also of the decompressed body."""

    seconds: float = 20.0
    bytes: int = 2_000_000
    redirects: int = 5
    ports: Collection[int] = (80, 443)
    types: Collection[str] = _TYPES


ANY_HOST = Hosts()
DEFAULT_LIMITS = FetchLimits()


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A fetched page. ``url``: after redirects. ``kind``: the media type, without parameters. ``is_cut``: the body was truncated."""

    url: str
    kind: str
    charset: str
    body: bytes = field(repr=False)
    is_cut: bool = False


class Fetcher:
    """Fetches pages, each over its own connection. ``resolver`` and ``permits``: see ``CheckedNetwork``."""

    def __init__(
        self,
        hosts: Hosts = ANY_HOST,
        limits: FetchLimits = DEFAULT_LIMITS,
        *,
        resolver: Resolver = look_up,
        permits: Callable[[str], bool] = is_public,
    ) -> None:
        self._hosts = hosts
        self._limits = limits
        self._network = CheckedNetwork(resolver, permits)

    async def fetch(self, url: str) -> FetchedPage:
        """The page at this address.

        Raises:
            AddressRefusedError: the address may not be requested.
            FetchError: the page could not be loaded, or is not text.
        """
        try:
            async with asyncio.timeout(self._limits.seconds):
                for _ in range(self._limits.redirects + 1):
                    found = await self._request(self._checked_target(url))
                    if isinstance(found, FetchedPage):
                        return found
                    url = found
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError, TimeoutError, ValueError, zlib.error):
            raise NotLoadedError from None
        raise FetchError("The page redirects too often.")

    def _checked_target(self, url: str) -> Target:
        target = urls.parse_target(url, self._limits.ports)
        if not self._hosts.allows(target.host):
            raise AddressRefusedError
        return target

    async def _request(self, target: Target) -> FetchedPage | str:
        """The page, or the address that it redirects to."""
        named = {"Host": _host_header(target), "User-Agent": USER_AGENT, "Accept": _ACCEPT, "Accept-Encoding": "identity"}
        headers: list[tuple[bytes | str, bytes | str]] = list(named.items())
        async with (
            httpcore.AsyncConnectionPool(ssl_context=_tls(), max_connections=1, network_backend=self._network) as pool,
            pool.stream("GET", target.url, headers=headers, extensions={"timeout": self._timeouts()}) as response,
        ):
            named = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
            if response.status in _REDIRECTS and "location" in named:
                following = urls.resolve_link(target.url, named["location"])
                if following is None:
                    raise AddressRefusedError
                return following
            if response.status not in _SUCCESS:
                raise FetchError(f"The server answered with the status {response.status}.")
            kind, charset = _kind(named.get("content-type", "text/plain"))
            if kind not in self._limits.types:
                raise FetchError("This content cannot be read as text.")
            body, is_cut = await self._body(response, named.get("content-encoding", "identity").strip().lower())
            return FetchedPage(target.url, kind, charset, body, is_cut)

    async def _body(self, response: httpcore.Response, encoding: str) -> tuple[bytes, bool]:
        """The body up to the limit, and whether there was more. It is decompressed piece by piece, never beyond the limit."""
        unpack = _unpacker(encoding)
        most, taken, body = self._limits.bytes, 0, bytearray()
        async for chunk in response.aiter_stream():
            taken += len(chunk)
            body += unpack(chunk, most + 1 - len(body))
            if len(body) > most or taken > most:
                return bytes(body[:most]), True
        return bytes(body), False

    def _timeouts(self) -> dict[str, float]:
        return dict.fromkeys(("connect", "read", "write", "pool"), self._limits.seconds)


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    if encoding in ("", "identity"):
        return lambda chunk, most: chunk[:most]
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise FetchError("The server compressed the page in an unsupported way.")
    opened = zlib.decompressobj(zlib.MAX_WBITS | 32)
    return lambda chunk, most: opened.decompress(chunk, max(most, 1))


def _kind(content_type: str) -> tuple[str, str]:
    kind, *parameters = (part.strip() for part in content_type.split(";"))
    charset = next((each.partition("=")[2].strip("\"' ") for each in parameters if each.lower().startswith("charset=")), "")
    return kind.lower(), charset


def _host_header(target: Target) -> str:
    return target.url.partition("://")[2].partition("/")[0].partition("?")[0]


@cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
