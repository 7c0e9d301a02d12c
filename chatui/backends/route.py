"""The way to a model server: which addresses it may have, and what else requests need: API root, query, key header, certificates, proxy."""

from __future__ import annotations

import base64
import re
import ssl
from dataclasses import dataclass, field

import httpx

# Such as v4 or v1beta; Azure's older addresses end in the name of a deployment.
_VERSION = re.compile(r"v\d+(?:[a-z]+\d*)?", re.ASCII)
_DEPLOYMENT = re.compile(r"/openai/deployments/[^/]+$")
_V1 = "/v1"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy before a model server. No secret is in the repr."""

    address: str
    authorization: str = field(default="", repr=False)
    """Its ``Proxy-Authorization`` header; empty if it needs none."""
    password: str = field(default="", repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """The headers for the proxy alone; they are never sent to a server."""
        return {"Proxy-Authorization": self.authorization} if self.authorization else {}

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not be shown to anybody."""
        return tuple(filter(None, (self.authorization.removeprefix("Basic "), self.password)))


@dataclass(frozen=True, slots=True)
class Route:
    """How requests reach a model server."""

    is_api_root: bool | None = None
    """Whether the address is where ``/chat/completions`` begins; None to guess from its form."""
    query: tuple[tuple[str, str], ...] = ()
    """Sent with every request."""
    key_header: str = ""
    """The header that holds the key, without a prefix; empty for ``Authorization: Bearer``."""
    ca_file: str = ""
    """PEM file of the only authorities that are trusted."""
    certificate: str = ""
    """PEM file of the client certificate."""
    certificate_key: str = ""
    """PEM file of its key."""
    proxy: str = field(default="", repr=False)
    """The http address of a proxy, with a name and a password if it needs them; not in the repr."""

    def api_root(self, url: str) -> str:
        """The part before ``/chat/completions``. ``url``: as the operator wrote it."""
        url = url.rstrip("/")
        is_root = _looks_like_api_root(url) if self.is_api_root is None else self.is_api_root
        return url if is_root else f"{url}{_V1}"

    def address(self, url: str, path: str) -> str:
        """The address of ``path``, which begins with ``/v1`` if it belongs to the API, and has no query."""
        root = self.api_root(url)
        if path.startswith(f"{_V1}/"):
            return f"{root}{path.removeprefix(_V1)}"
        return f"{root.removesuffix(_V1)}{path}"

    def key_headers(self, key: str | None) -> dict[str, str]:
        if not key:
            return {}
        return {self.key_header: key} if self.key_header else {"Authorization": f"Bearer {key}"}

    def through(self) -> Proxy | None:
        if not self.proxy:
            return None
        url = httpx.URL(self.proxy)
        return Proxy(str(url.copy_with(userinfo=b"")), basic_authorization(url), url.password)

    def tls(self) -> ssl.SSLContext:
        """The TLS context. Raises OSError if a file cannot be read or contains no certificate."""
        if self.ca_file:
            context = ssl.create_default_context(cafile=self.ca_file)
        else:
            context = httpx.create_ssl_context(trust_env=False)
        if self.certificate:
            # Otherwise, a key with a password would prompt on the terminal.
            context.load_cert_chain(self.certificate, self.certificate_key or None, password="")
        context.set_alpn_protocols(["http/1.1"])
        return context


DIRECT = Route()
"""A direct route, with nothing added."""


def basic_authorization(address: httpx.URL) -> str:
    """The header for the name and password in an address; empty if it has none."""
    both = f"{address.username}:{address.password}".encode()
    return f"Basic {base64.b64encode(both).decode('ascii')}" if address.userinfo else ""


def _looks_like_api_root(url: str) -> bool:
    path = httpx.URL(url).path
    return any(_VERSION.fullmatch(part) for part in path.split("/")) or _DEPLOYMENT.search(path) is not None
