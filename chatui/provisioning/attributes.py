"""Reads the attributes that a directory sends about a person, in a whole resource or a PATCH. None means that one was not sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from chatui.provisioning.errors import ScimError
from chatui.provisioning.patches import Change, boolean, is_storable

_MAX_CHARS = {"user_name": 255, "external_id": 255, "given_name": 150, "family_name": 150}
_COLUMNS = {"username": "user_name", "externalid": "external_id", "name.givenname": "given_name", "name.familyname": "family_name"}


@dataclass(frozen=True, slots=True)
class PersonAttributes:
    """The fields of ``ProvisionedAccount`` that a directory may set, and whether the account is open."""

    user_name: str | None = None
    external_id: str | None = None
    given_name: str | None = None
    family_name: str | None = None
    email: str | None = None
    active: bool | None = None

    def columns(self) -> dict[str, str]:
        """The attributes that were sent, except ``active``."""
        found = {name: getattr(self, name) for name in (*_MAX_CHARS, "email")}
        return {name: value for name, value in found.items() if value is not None}


def of_resource(body: Mapping[str, Any]) -> PersonAttributes:
    """The attributes in a POST or PUT. Raises ScimError if a field is invalid, or userName is missing."""
    fields = {str(name).lower(): value for name, value in body.items()}
    name = fields.pop("name", None)
    parts = {f"name.{str(part).lower()}": value for part, value in name.items()} if isinstance(name, dict) else {}
    attributes = of_changes(Change("replace", attribute, value) for attribute, value in {**fields, **parts}.items() if value is not None)
    if not attributes.user_name:
        raise ScimError("userName is required.", "invalidValue")
    return attributes


def of_changes(changes: Iterable[Change]) -> PersonAttributes:
    """The attributes in a PATCH. Attributes that are not stored here are ignored. Raises ScimError."""
    attributes = PersonAttributes()
    for change in changes:
        attributes = _applied(attributes, change)
    return attributes


def _applied(attributes: PersonAttributes, change: Change) -> PersonAttributes:
    is_removed = change.kind == "remove"
    if change.attribute == "active":
        if is_removed:
            raise ScimError("active cannot be removed.", "mutability")
        return replace(attributes, active=boolean(change.value))
    if change.attribute in ("emails", "emails.value"):
        return attributes if _is_of_another_kind(change) else replace(attributes, email="" if is_removed else _email(change))
    column = _COLUMNS.get(change.attribute)
    if column is None:
        return attributes
    if is_removed and column in ("user_name", "external_id"):
        # Without it, the account could no longer be identified.
        raise ScimError("userName and externalId cannot be removed.", "mutability")
    text: dict[str, Any] = {column: "" if is_removed else _text(column, change.value)}
    return replace(attributes, **text)


def _text(column: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > _MAX_CHARS[column] or not value.isprintable():
        raise ScimError("A name or id must be one line of text, and not too long.", "invalidValue")
    if column == "user_name" and not value.strip():
        raise ScimError("userName is required.", "invalidValue")
    return value.strip()


def _is_of_another_kind(change: Change) -> bool:
    """Whether the path selects an address that is not stored here, such as a home address."""
    return change.selector is not None and change.selector[0] == "type" and change.selector[1].lower() != "work"


def _email(change: Change) -> str:
    """The work or primary address; empty if there is no well-formed one."""
    value = [change.value] if isinstance(change.value, dict) else change.value
    if isinstance(value, list):
        listed = [each for each in value if isinstance(each, dict)]
        best = sorted(listed, key=lambda each: (str(each.get("primary")).lower() != "true", each.get("type") != "work"))
        value = best[0].get("value") if best else ""
    if not isinstance(value, str) or len(value) > 254 or not is_storable(value):
        return ""
    try:
        validate_email(value)
    except ValidationError:
        return ""
    return value
