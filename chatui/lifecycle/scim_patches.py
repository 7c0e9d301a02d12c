"""Reads what directories send about people and groups: PATCH requests as a list of Changes, and a person's attributes.

PATCH requests are read in all the forms that directories send (RFC 7644, section 3.5.2). Attributes come in a whole resource or a PATCH.
None means that one was not sent.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from chatui.accounts import mail
from chatui.lifecycle.scim_resources import CORE, ScimError

M = TypeVar("M", bound=Model)

MAX_OPERATIONS = 1000
MAX_MEMBERS = 10_000

_TERM = re.compile(
    r"""(?:(?P<part>emails|members)(?:\[\s*type\s+eq\s+"work"\s*\])?(?:\.value\s+|\s+|(?P<open>\[)\s*value\s+)|(?P<attribute>\w+)\s+)eq\s+"""
    r"""(?P<value>"(?:[^"\\]|\\.)*"|true|false)(?(open)\s*\])\s*(?:\Z|and\s+(?=\S))(?:urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):)?""",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?P<attribute>[A-Za-z$]\w*)(?:\[(?P<filter>.*)\])?(?:\.(?P<part>[A-Za-z$]\w*))?", re.DOTALL)
_EXTENSION = re.compile(r"urn:[\w.:-]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One change."""

    kind: str
    """add, replace or remove."""
    attribute: str
    """In lower case, with a sub-attribute after a full stop."""
    value: Any = field(default=None, repr=False)
    selector: tuple[str, str] | None = None
    """The attribute, in lower case, and the value by which the path selects one of several; None if it selects all."""


def check_schemas(body: Mapping[str, Any], needed: str) -> None:
    """Raises ScimError if a request says that it is of another kind. Some directories leave ``schemas`` out, which is no contradiction."""
    found = {str(name).lower(): value for name, value in body.items()}.get("schemas", [needed])
    if not isinstance(found, list) or needed.lower() not in [str(each).lower() for each in found]:
        raise ScimError(f"schemas must be a list with {needed}.", "invalidSyntax")


def changes(body: Mapping[str, Any], key: str) -> list[PatchOperation]:
    """The changes in a PATCH of the resource with the id ``key``, in order.

    Raises ScimError for anything unsupported: if a removal were ignored, access would remain. So it does for what is read-only (RFC 7643,
    sections 3.1 and 4.1.2), but for the id as it is, which Okta sends.
    """
    operations = {name.lower(): value for name, value in body.items()}.get("operations")
    if not isinstance(operations, list) or not 0 < len(operations) <= MAX_OPERATIONS:
        raise ScimError("Operations must be a list that is neither empty nor too long.", "invalidSyntax")
    found = [change for operation in operations for change in _changes_of(operation)]
    for change in found:
        name = change.attribute.partition(".")[0]
        is_kept = name == "id" and change.kind != "remove" and str(change.value).lower() == key.lower()
        if name in ("id", "meta", "groups") and not is_kept:
            raise ScimError(f"{name} is read-only.", "mutability")
    return found


def filtered(rows: QuerySet[M], text: str, conditions: Mapping[str, Callable[[str], Q]]) -> QuerySet[M]:
    """The rows that match a filter; all if it is empty. ``conditions``: for the value of each attribute that filters may have.

    Raises ScimError for an unsupported filter.
    """
    for attribute, value in parse_filters(text, *conditions) if text else ():
        rows = rows.filter(conditions[attribute](value))
    return rows


def parse_filters(text: str, *attributes: str) -> list[tuple[str, str]]:
    """Which of the attributes a filter has, such as ``userName eq "ada" and active eq true``, and their values. All of them must match.

    ``emails`` and ``members`` may be written with ``.value``, or with a filter of their own. Raises ScimError for any other form.
    """
    known, found, rest = {name.lower(): name for name in attributes}, [], CORE.sub("", text.strip())
    while match := _TERM.match(rest):
        name = (match["part"] or match["attribute"]).lower()
        found.append((name, _filter_value(match["value"])))
        rest = rest[match.end() :]
    if rest or not found or not {name for name, _ in found} <= known.keys():
        words = f'A filter must look like {attributes[0]} eq "value", joined by and, with: {", ".join(attributes)}.'
        raise ScimError(words, "invalidFilter")
    return [(known[name], value) for name, value in found]


def _filter_value(text: str) -> str:
    try:
        value = str(json.loads(text)) if text.startswith('"') else text.lower()
    except ValueError:
        raise ScimError("The value of the filter is not a JSON string.", "invalidFilter") from None
    if not _is_storable(value):
        raise ScimError("The value of the filter has invalid characters.", "invalidFilter")
    return value


def uuids(keys: Iterable[str]) -> list[UUID]:
    good = []
    for key in keys:
        with contextlib.suppress(ValueError):
            good.append(UUID(key))
    return good


def _is_storable(text: str) -> bool:
    """Whether every database can store the text: it has no NUL and no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


def boolean(value: object) -> bool:
    """A boolean. Entra ID also writes it as a string, in its old form as a list of one. Raises ScimError."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0].get("value")
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ScimError("active must be true or false.", "invalidValue")


def member_ids(value: object) -> list[str]:
    """The ids of members: a list of objects with a value, or one such object. Raises ScimError."""
    listed = value if isinstance(value, list) else [value]
    if len(listed) > MAX_MEMBERS:
        raise ScimError("There are too many members in one request.", "tooMany")
    values = [each.get("value") if isinstance(each, dict) else None for each in listed]
    if not all(isinstance(each, str) for each in values):
        raise ScimError("members must be a list of objects with a value.", "invalidValue")
    return [str(each) for each in values]


def _changes_of(operation: object) -> Iterator[PatchOperation]:
    """The changes of one operation: of the attribute that its path names, or without a path of each that its value has."""
    fields = {str(name).lower(): value for name, value in operation.items()} if isinstance(operation, dict) else {}
    kind, path, value = str(fields.get("op")).lower(), fields.get("path"), fields.get("value")
    if kind not in ("add", "replace", "remove") or not isinstance(path, str | None):
        raise ScimError("The op of an operation must be add, replace or remove, and its path a text.", "invalidSyntax")
    if path and CORE.sub("", path.strip()).lower() == "name":
        yield from _parts(kind, "name", {"givenName": None, "familyName": None} if kind == "remove" else value)
    elif path:
        yield _change(kind, path, value)
    elif kind == "remove":
        raise ScimError("A removal needs a path.", "noTarget")
    elif not isinstance(value, dict):
        raise ScimError("Without a path, the value must be an object.", "invalidValue")
    else:
        for name, each in value.items():
            yield from _parts(kind, str(name), each)


def _parts(kind: str, name: str, value: object) -> Iterator[PatchOperation]:
    """``{"name": {"givenName": …}}`` is equivalent to ``name.givenName``."""
    if name.lower() == "name" and isinstance(value, dict):
        for part, each in value.items():
            yield _change(kind, f"name.{part}", each)
    else:
        yield _change(kind, name, value)


def _change(kind: str, path: str, value: object) -> PatchOperation:
    plain = CORE.sub("", path.strip())
    if _EXTENSION.match(plain):
        return PatchOperation(kind, "extension", value)  # such as a department, which is not stored here
    match = _PATH.fullmatch(plain)
    if match is None:
        raise ScimError("The path is not supported.", "invalidPath")
    part = f".{match['part'].lower()}" if match["part"] else ""
    selectors = [] if match["filter"] is None else parse_filters(match["filter"], "value", "type", "primary")
    if len(selectors) > 1:
        raise ScimError("A selector has one condition.", "invalidFilter")
    return PatchOperation(kind, match["attribute"].lower() + part, value, next(iter(selectors), None))


def one_line(value: object, max_chars: int) -> str:
    """The text of a name or an id, without spaces around it. Raises ScimError if it is too long, or not one line of text."""
    if not isinstance(value, str) or len(value) > max_chars or not value.isprintable():
        raise ScimError("A name or id must be one line of text, and not too long.", "invalidValue")
    return value.strip()


_MAX_CHARS = {"user_name": 255, "external_id": 255, "given_name": 150, "family_name": 150}
_COLUMNS = {
    "username": "user_name",
    "externalid": "external_id",
    "name.givenname": "given_name",
    "name.familyname": "family_name",
    "active": "active",
}


class PersonAttributes(TypedDict, total=False):
    """The fields of ``ProvisionedAccount`` that a directory has sent, and whether the account is open."""

    user_name: str
    external_id: str
    given_name: str
    family_name: str
    email: str
    active: bool


def of_resource(body: Mapping[str, Any], needed: str = "") -> list[PatchOperation]:
    """The changes in a POST or PUT. What is null was not sent. Raises ScimError if the attribute ``needed`` was not."""
    sent = [change for name, value in body.items() for change in _parts("replace", str(name), value) if change.value is not None]
    if needed and all(change.attribute != needed.lower() for change in sent):
        raise ScimError(f"{needed} is required.", "invalidValue")
    return sent


def person_attributes(changes: Iterable[PatchOperation], email: str = "") -> PersonAttributes:
    """The attributes that changes set. Attributes that are not stored here are ignored. ``email``: the one address that is stored, as the
    primary one for work. Raises ScimError.
    """
    sent: PersonAttributes = {}
    for change in changes:
        if change.attribute in ("emails", "emails.value"):
            if not _is_about_another(change, sent.get("email", email)):
                sent["email"] = "" if change.kind == "remove" else _email(change)
        elif column := _COLUMNS.get(change.attribute):
            sent[column] = _value(column, change)  # type: ignore[literal-required]
    return sent


def _value(column: str, change: PatchOperation) -> str | bool:
    if change.kind == "remove":
        if column in ("given_name", "family_name"):
            return ""
        # Without a name and an id, the account could no longer be identified.
        raise ScimError("userName, externalId and active cannot be removed.", "mutability")
    if column == "active":
        return boolean(change.value)
    text = one_line(change.value, _MAX_CHARS[column])
    if column == "user_name" and not text:
        raise ScimError("userName is required.", "invalidValue")
    return text


def _is_about_another(change: PatchOperation, email: str) -> bool:
    """Whether the change is about an address that is not stored here, such as a home address.

    Raises ScimError for one that would replace it (RFC 7644, section 3.5.2.3), except for another type, which directories send of all whose
    other addresses they know.
    """
    if change.selector is None:
        return change.kind == "add" and _has_only_others(change.value)
    name, value = change.selector
    if name == "type":
        return value.lower() != "work"
    is_stored = value.lower() == ("true" if name == "primary" else email.lower())
    if not is_stored and change.kind != "remove":
        raise ScimError("No address is selected.", "noTarget")
    return not is_stored


def _has_only_others(value: object) -> bool:
    """Whether all addresses in a value are ones that are not stored: neither for work nor the primary one."""
    listed = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict)]
    return bool(listed) and all(
        str(each.get("type", "work")).lower() != "work" and str(each.get("primary")).lower() != "true" for each in listed
    )


def _email(change: PatchOperation) -> str:
    """The work or primary address; empty if there is no well-formed one."""
    value = [change.value] if isinstance(change.value, dict) else change.value
    if isinstance(value, list):
        listed = [each for each in value if isinstance(each, dict)]
        best = sorted(listed, key=lambda each: (str(each.get("primary")).lower() != "true", each.get("type") != "work"))
        value = best[0].get("value") if best else ""
    return value if isinstance(value, str) and _is_storable(value) and mail.is_address(value) else ""
