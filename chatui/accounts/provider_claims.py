"""Reads the claims of an ID token about a person, and checks whether the operator admits them.

They are read strictly: a value of an unexpected type is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatui.accounts import mail
from chatui.accounts.openid import NotListedError
from chatui.accounts.sign_in_settings import Provider

MAX_GROUPS = 2000


@dataclass(frozen=True, slots=True)
class PersonClaims:
    """A person's claims; a missing text is empty."""

    subject: str
    """The identity."""
    name: str
    email: str
    """Empty unless verified."""
    groups: frozenset[str] | None
    """None if the claim is missing, for example because of too many groups or without the scope; that differs from being in no group."""
    session: str = ""
    """The provider's id of its own session."""
    directory_id: str = ""
    """The directory's id of the person."""
    directory_groups: frozenset[str] = frozenset()
    """The groups from the directory, which hold if the claim is missing."""


def read(provider: Provider, claims: Mapping[str, Any]) -> PersonClaims:
    """Read the claims of a valid ID token."""
    return PersonClaims(
        str(claims["sub"]),
        _name(claims),
        _email(provider, claims),
        _claimed_groups(provider, claims),
        session=_short_text(claims.get("sid")),
        directory_id=_short_text(claims.get(provider.scim_claim)),
    )


def admit(provider: Provider, person_claims: PersonClaims) -> None:
    """Check that the operator admits this person. If both lists are set, both must match. Raises NotListedError."""
    groups = person_claims.directory_groups if person_claims.groups is None else person_claims.groups
    if provider.enter_groups and not groups & set(provider.enter_groups):
        raise NotListedError("not in an admitted group")
    domain = person_claims.email.rpartition("@")[2].lower()
    if provider.enter_domains and domain not in {each.lower() for each in provider.enter_domains}:
        raise NotListedError("no verified address in an admitted domain")


def _short_text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 255 else ""


def _name(claims: Mapping[str, Any]) -> str:
    for claim in ("preferred_username", "nickname", "name"):
        if isinstance(value := claims.get(claim), str) and value.strip():
            return value.strip()[:150]
    return ""


def _email(provider: Provider, claims: Mapping[str, Any]) -> str:
    value, is_verified = claims.get("email"), provider.addresses_are_verified or claims.get("email_verified") is True
    return value if is_verified and isinstance(value, str) and mail.is_address(value) else ""


def _claimed_groups(provider: Provider, claims: Mapping[str, Any]) -> frozenset[str] | None:
    value: Any = claims
    for name in provider.groups_claim:
        value = value.get(name) if isinstance(value, Mapping) else None
    # Never split a text: names may contain commas. A text instead of a list is one group.
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or len(found) > MAX_GROUPS or not all(isinstance(each, str) for each in found):
        return None
    return frozenset(found)
