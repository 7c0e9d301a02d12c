"""The SCIM views. ``chatui.provisioning`` does the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chatui.provisioning import attributes, groups, patches, people, resources, service_description
from chatui.provisioning.errors import NoSuchResourceError, ScimError
from chatui.web.scim.gate import Answer, Call, scim


@scim("GET")
def service_provider_config(call: Call) -> Answer:
    """The features of this server."""
    return 200, service_description.service_provider_config(call.base)


@scim("GET")
def resource_types(call: Call, key: str = "") -> Answer:
    """The resource types."""
    return _listed_or_one(service_description.resource_types(call.base), key)


@scim("GET")
def schemas(call: Call, key: str = "") -> Answer:
    """The schemas of the resources."""
    return _listed_or_one(service_description.schemas(call.base), key)


@scim("GET", "POST")
def users(call: Call) -> Answer:
    """The accounts of this directory, and new ones."""
    if call.method == "POST":
        return 201, resources.person(people.create(call.visitor, call.provider, attributes.of_resource(call.body)), call.base)
    return _page(call, people.search(call.provider, _filter(call)), lambda row: resources.person(row, call.base))


@scim("GET", "PUT", "PATCH", "DELETE")
def user(call: Call, key: str) -> Answer:
    """One account."""
    match call.method:
        case "GET":
            row = people.get(call.provider, key)
        case "PUT":
            row = people.change(call.visitor, call.provider, key, attributes.of_resource(call.body))
        case "PATCH":
            row = people.patch(call.visitor, call.provider, key, patches.changes(call.body))
        case _:
            people.delete(call.visitor, call.provider, key)
            return 204, None
    return 200, resources.person(row, call.base)


@scim("GET", "POST")
def all_groups(call: Call) -> Answer:
    """The groups of this directory, and new ones."""
    if call.method == "POST":
        return 201, _group(call, groups.create(call.visitor, call.provider, call.body))
    return _page(call, groups.search(call.provider, _filter(call)), lambda row: _group(call, row))


@scim("GET", "PUT", "PATCH", "DELETE")
def group(call: Call, key: str) -> Answer:
    """One group."""
    match call.method:
        case "GET":
            row = groups.get(call.provider, key)
        case "PUT":
            row = groups.replace(call.visitor, call.provider, key, call.body)
        case "PATCH":
            row = groups.patch(call.visitor, call.provider, key, patches.changes(call.body))
        case _:
            groups.delete(call.visitor, call.provider, key)
            return 204, None
    return 200, _group(call, row)


@scim("GET", "POST", "PUT", "PATCH", "DELETE")
def nothing(call: Call, rest: str) -> Answer:
    """All other addresses, such as those of bulk requests."""
    raise NoSuchResourceError


def _group(call: Call, row: Any) -> resources.Json:
    is_short = "members" in call.query.get("excludedAttributes", "")
    return resources.group(row, call.base, None if is_short else list(groups.members_of(call.provider, row)))


def _filter(call: Call) -> str:
    text = call.query.get("filter", "")
    if len(text) > 1000:
        raise ScimError("The filter is too long.", "invalidFilter")
    return text


def _page(call: Call, rows: Any, write: Callable[[Any], resources.Json]) -> Answer:
    start, count = max(1, _number(call, "startIndex", 1)), min(service_description.MAX_RESULTS, max(0, _number(call, "count", 100)))
    return 200, resources.page([write(row) for row in rows[start - 1 : start - 1 + count]], rows.count(), start)


def _number(call: Call, name: str, otherwise: int) -> int:
    text = call.query.get(name, "")
    if not text:
        return otherwise
    if len(text) > 9 or not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
        raise ScimError(f"{name} must be a number.", "invalidValue")
    return int(text)


def _listed_or_one(found: Sequence[resources.Json], key: str) -> Answer:
    if not key:
        return 200, resources.page(found, len(found), 1)
    for each in found:
        if each["id"] == key:
            return 200, each
    raise NoSuchResourceError
