"""The operator's settings for one OpenID provider."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, field_validator, model_validator

Text = Annotated[str, StringConstraints(min_length=1, max_length=250)]
Texts = tuple[Text, ...]


class Provider(BaseModel):
    """One ``[[provider]]`` table. ``docs/accounts.md`` describes each field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    name: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    issuer: Text
    client_id: Text
    client_secret: SecretStr = SecretStr("")
    client_secret_file: Path | None = None
    scopes: Texts = ("openid", "profile", "email")
    groups_claim: Text | tuple[Text, ...] = "groups"
    groups: dict[str, Text | Texts] = Field(default_factory=dict)
    staff: Texts = ()
    who_may_enter: Literal["everybody", "listed"] = "listed"
    enter_groups: Texts = ()
    enter_domains: Texts = ()
    sign_up: bool = True
    addresses_are_verified: bool = False
    session_hours: Annotated[int, Field(ge=1, le=14 * 24)] = 12
    logout_closes: bool = False
    scim_claim: Text = "sub"

    @field_validator("issuer")
    @classmethod
    def _check_issuer(cls, value: str) -> str:
        if not is_safe_address(value) or urlsplit(value).query or urlsplit(value).fragment:
            raise ValueError("must be an https address; http is allowed only for this machine")
        return value

    @field_validator("scopes")
    @classmethod
    def _check_scopes(cls, value: Texts) -> Texts:
        if "openid" not in value or any(" " in scope for scope in value):
            raise ValueError("must be a list that includes openid")
        return value

    @model_validator(mode="after")
    def _check_admission(self) -> Self:
        if (self.who_may_enter == "listed") != bool(self.enter_groups or self.enter_domains):
            raise ValueError('say who may enter: enter_groups, enter_domains, or who_may_enter = "everybody"')
        return self

    @property
    def claim_path(self) -> tuple[str, ...]:
        """The path of the groups claim: one name, or the names of nested objects."""
        return (self.groups_claim,) if isinstance(self.groups_claim, str) else self.groups_claim

    @property
    def managed_groups(self) -> frozenset[str]:
        """Our groups that this provider manages."""
        return frozenset(name for names in self.groups.values() for name in ((names,) if isinstance(names, str) else names))

    def groups_for(self, values: frozenset[str]) -> frozenset[str]:
        """The managed groups that these values map to. Values without a mapping are ignored."""
        found = (names for value, names in self.groups.items() if value in values)
        return frozenset(name for names in found for name in ((names,) if isinstance(names, str) else names))

    def secret(self) -> str:
        """The client secret; empty for a public client. Raises OSError if the file cannot be read."""
        if self.client_secret_file is not None:
            return self.client_secret_file.read_text(encoding="utf-8").strip()
        return self.client_secret.get_secret_value()


def is_safe_address(address: str) -> bool:
    """Whether this is an https address, or an http address on this machine; with a host, and without a password."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return False
    if not host or parts.username or parts.password or not address.isprintable() or " " in address:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
