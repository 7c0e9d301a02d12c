"""The operator's settings for a reverse proxy that signs people in and passes their names on in a header."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, IPvAnyNetwork, SecretStr, StringConstraints, model_validator

HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{1,60}$", to_lower=True)]


class HeaderRule(BaseModel):
    """The ``[header]`` table. ``docs/accounts.md`` describes each field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: HeaderName
    proxies: tuple[IPvAnyNetwork, ...]
    secret_name: HeaderName = "x-proxy-secret"  # noqa: S105 - the name of a header
    secret: SecretStr = SecretStr("")
    secret_file: Path | None = None
    sign_up: bool = True

    @model_validator(mode="after")
    def _check_proxies(self) -> Self:
        if not self.proxies:
            raise ValueError("must list the addresses of the proxies")
        if self.name == self.secret_name:
            raise ValueError("the secret needs a header of its own")
        has_secret = bool(self.secret.get_secret_value()) or self.secret_file is not None
        if not has_secret and not all(network.is_loopback for network in self.proxies):
            raise ValueError("a proxy on another machine needs a secret")
        return self

    def is_from_proxy(self, peer: str) -> bool:
        """Whether the connection itself comes from one of the proxies. Addresses in headers do not count."""
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False  # a Unix socket or no address, so the peer is unknown
        # A server that listens on both kinds of address sees an IPv4 peer as ::ffff:10.0.0.1.
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self.proxies)

    def expected_secret(self) -> str:
        """The secret; empty if none is needed. Raises OSError if the file cannot be read."""
        if self.secret_file is not None:
            return self.secret_file.read_text(encoding="utf-8").strip()
        return self.secret.get_secret_value()
