"""The operator's settings for how people sign in: OpenID providers, a reverse proxy's header, and who may use a password.

They are read from the operator's TOML file; an error message never quotes a value. A reverse proxy signs people in and passes their names
on in a header. A password is for everybody, or only for the operator's emergency accounts, so that others use single sign-on.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

from chatui.env import environment
from chatui.models.passkeys import Passkey
from chatui.models.sign_in import OutsideIdentity
from chatui.models.user import User
from chatui.operator_files import FilePath, OperatorFile
from chatui.proxies import address_of

HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{1,60}$", to_lower=True)]


class HeaderRule(BaseModel):
    """The ``[header]`` table. ``docs/accounts.md`` describes each field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: HeaderName
    proxies: tuple[IPvAnyNetwork, ...]
    secret_name: HeaderName = "x-proxy-secret"  # noqa: S105 - the name of a header
    secret: SecretStr = SecretStr("")
    secret_file: FilePath | None = None
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
        address = address_of(peer)
        return address is not None and any(address in network for network in self.proxies)

    def expected_secret(self) -> str:
        """The secret; empty if none is needed. Raises OSError if the file cannot be read."""
        return _secret(self.secret, self.secret_file)


def _secret(value: SecretStr, file: Path | None) -> str:
    return value.get_secret_value() if file is None else file.read_text(encoding="utf-8").strip()


Text = Annotated[str, StringConstraints(min_length=1, max_length=250)]
Texts = tuple[Text, ...]
OneOrMore = Annotated[Texts, BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


class Provider(BaseModel):
    """One ``[[provider]]`` table. ``docs/accounts.md`` describes each field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    name: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    issuer: Text
    client_id: Text
    client_secret: SecretStr = SecretStr("")
    client_secret_file: FilePath | None = None
    scopes: Texts = ("openid", "profile", "email")
    groups_claim: OneOrMore = ("groups",)
    groups: dict[str, OneOrMore] = Field(default_factory=dict)
    staff: Texts = ()
    who_may_enter: Literal["everybody", "listed"] = "listed"
    enter_groups: Texts = ()
    enter_domains: Texts = ()
    sign_up: bool = True
    addresses_are_verified: bool = False
    session_hours: Annotated[int, Field(ge=1, le=14 * 24, strict=True)] = 12
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
    def managed_groups(self) -> frozenset[str]:
        """Our groups that this provider manages."""
        return frozenset(name for names in self.groups.values() for name in names)

    def groups_for(self, values: frozenset[str]) -> frozenset[str]:
        """The managed groups that these values map to. Values without a mapping are ignored."""
        return frozenset(name for value, names in self.groups.items() if value in values for name in names)

    @property
    def table_digest(self) -> str:
        """Changes if the provider's groups map to other groups or make other people staff."""
        table = [sorted((value, sorted(names)) for value, names in self.groups.items())]
        return hashlib.sha256(json.dumps([*table, sorted(self.staff)]).encode()).hexdigest()

    def secret(self) -> str:
        """The client secret; empty for a public client. Raises OSError if the file cannot be read."""
        return _secret(self.client_secret, self.client_secret_file)


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
    found = address_of(host)
    # Not is_this_computer: this server's resolver may ask the network for names below localhost, which browsers do not.
    return parts.scheme == "https" or (parts.scheme == "http" and (found.is_loopback if found else host == "localhost"))


EVERYBODY, EMERGENCY = "everybody", "emergency"
MAX_PROVIDERS = 10


@dataclass(frozen=True, slots=True)
class SignInFile:
    """The content of the file.

    ``passwords``: for EVERYBODY, or only for the EMERGENCY accounts. Mistakes make it stricter, never more permissive.
    """

    providers: tuple[Provider, ...] = ()
    passwords: str = EVERYBODY
    emergency_accounts: tuple[str, ...] = ()
    header: HeaderRule | None = None
    problems: tuple[str, ...] = ()


def sign_in_file() -> SignInFile:
    """The file of CHATUI_SIGN_IN_FILE, read once. Without a file, everybody may use passwords."""
    path = environment().sign_in_file
    return SignInFile() if path is None else read_file(path)


@cache
def read_file(path: Path) -> SignInFile:
    """The file at ``path``, with absolute paths. Never raises for its content."""
    file = OperatorFile(path, ("provider", "passwords", "emergency_accounts", "header"))
    if not file.is_readable:
        # The file's rule for passwords is unknown, so nobody may use one.
        return SignInFile(passwords=EMERGENCY, problems=tuple(file.problems))
    passwords = file.content.get("passwords", EVERYBODY)
    emergency = _names(file.content.get("emergency_accounts", []))
    if passwords not in (EVERYBODY, EMERGENCY):
        file.problems.append(f"passwords: must be {EVERYBODY} or {EMERGENCY}")
    if emergency is None:
        file.problems.append("emergency_accounts: must be a list of names")
    if passwords != EVERYBODY and not emergency:
        file.problems.append("emergency_accounts: without one, nobody gets in while a provider is down")
    allowed = EVERYBODY if passwords == EVERYBODY else EMERGENCY
    providers = _providers(file)
    header = file.checked("[header]", HeaderRule, file.content["header"]) if "header" in file.content else None
    return SignInFile(providers, allowed, emergency or (), header, tuple(file.problems))


def provider_of(key: str) -> Provider | None:
    return next((each for each in sign_in_file().providers if each.key == key), None)


def _names(value: object) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list) and all(isinstance(name, str) and name for name in value) else None


def _providers(file: OperatorFile) -> tuple[Provider, ...]:
    found: list[Provider] = []
    for place, table in file.tables("provider"):
        provider = file.checked(place, Provider, table)
        if provider and file.claim(place, key=provider.key, issuer=provider.issuer):
            found.append(provider)
    file.problems += [f"{provider.key}: there are more than {MAX_PROVIDERS} providers" for provider in found[MAX_PROVIDERS:]]
    return tuple(found[:MAX_PROVIDERS])


def may_use(person: User) -> bool:
    """Whether this person may sign in with a password, and so may set one."""
    return is_for_everybody() or is_emergency(person.get_username())


def has_own_way(person: User) -> bool:
    """Whether this person can sign in without a provider: with a password or a passkey."""
    return may_use(person) and (person.has_usable_password() or Passkey.objects.filter(user=person).exists())


def may_use_provider(person: User) -> bool:
    """Whether a provider may open this account: a superuser may do everything, so no other server may sign in as one."""
    return not person.is_superuser and not is_emergency(person.get_username())


def outside_issuers() -> list[str]:
    """The issuers of all that sign people in from outside: the configured providers, and the proxy."""
    file = sign_in_file()
    return [provider.issuer for provider in file.providers] + ([f"header:{file.header.name}"] if file.header else [])


def has_outside_way(person: User, without: UUID | None = None) -> bool:
    """Whether a configured provider or the proxy opens the account, even without the identity with the key ``without``."""
    rows = OutsideIdentity.objects.filter(user=person, issuer__in=outside_issuers())
    return may_use_provider(person) and (rows.exclude(pk=without) if without else rows).exists()


def is_for_everybody() -> bool:
    return sign_in_file().passwords == EVERYBODY


def is_emergency(name: str) -> bool:
    """Whether this is the name of an emergency account, which no provider or directory may open, rename, link or create."""
    return name in sign_in_file().emergency_accounts
