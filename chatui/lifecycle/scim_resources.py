"""Writes accounts, groups, lists, errors and the service description as SCIM resources (RFC 7643, 7644).

Each error has a status and, where RFC 7644 defines one, an error type. The service description has the features, resource types and schemas
(RFC 7643, sections 5 to 7).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from chatui.models.provisioning import ProvisionedAccount, ProvisionedGroup


class ScimError(Exception):
    """A SCIM error. ``detail`` is a fixed sentence for the directory's administrator, which never quotes the request."""

    status, detail, kind = 400, "", ""

    def __init__(self, detail: str = "", kind: str = "", status: int = 0) -> None:
        super().__init__(detail or self.detail)
        self.detail, self.kind, self.status = detail or self.detail, kind or self.kind, status or self.status


class NoSuchResourceError(ScimError):
    """This provider has no resource with that id. The error is the same for other providers' resources."""

    status, detail = 404, "There is no such resource."


class ResourceExistsError(ScimError):
    """The resource exists already: the request is repeated, or another resource has the name or id."""

    status, detail, kind = 409, "A resource with this userName, externalId or displayName exists already.", "uniqueness"


class ForbiddenAccountError(ScimError):
    status, detail = 403, "The directory may not change this account."


USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
CORE = re.compile(r"urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):", re.IGNORECASE)
"""What may precede the name of an attribute."""
_MESSAGES = "urn:ietf:params:scim:api:messages:2.0"
PATCH = f"{_MESSAGES}:PatchOp"

Json = dict[str, Any]


def person(row: ProvisionedAccount, base: str) -> Json:
    """An account. ``base``: the base URL of SCIM, with a slash at the end."""
    name = {key: value for key, value in (("givenName", row.given_name), ("familyName", row.family_name)) if value}
    return {
        "schemas": [USER],
        "id": str(row.pk),
        **({"externalId": row.external_id} if row.external_id else {}),
        "userName": row.user_name,
        **({"name": name} if name else {}),
        **({"emails": [{"value": row.email, "type": "work", "primary": True}]} if row.email else {}),
        "active": row.user.is_active,
        "meta": _meta("User", f"{base}Users/{row.pk}", row.made_at, row.changed_at),
    }


def group(row: ProvisionedGroup, base: str, members: Sequence[ProvisionedAccount] | None) -> Json:
    """A group. ``members`` None: the request excludes them."""
    listed = None if members is None else [{"value": str(each.pk), "display": each.user_name} for each in members]
    return {
        "schemas": [GROUP],
        "id": str(row.pk),
        **({"externalId": row.external_id} if row.external_id else {}),
        "displayName": row.name,
        **({"members": listed} if listed is not None else {}),
        "meta": _meta("Group", f"{base}Groups/{row.pk}", row.made_at, row.changed_at),
    }


ALWAYS = ("schemas", "id")


def selected(resource: Json, only: Sequence[str], without: Sequence[str]) -> Json:
    """The resource with these of its attributes, or without those (RFC 7644, section 3.9). Parts of an attribute count as the whole."""
    wanted, unwanted = ({CORE.sub("", each).partition(".")[0].strip().lower() for each in names} for names in (only, without))
    return {
        name: value
        for name, value in resource.items()
        if name in ALWAYS or ((not only or name.lower() in wanted) and name.lower() not in unwanted)
    }


def page(resources: Sequence[Json], total: int, start: int) -> Json:
    """A page of a list; ``start`` counts from 1."""
    return {
        "schemas": [f"{_MESSAGES}:ListResponse"],
        "totalResults": total,
        "startIndex": start,
        "itemsPerPage": len(resources),
        "Resources": list(resources),
    }


def problem(error: ScimError) -> Json:
    kind = {"scimType": error.kind} if error.kind else {}
    return {"schemas": [f"{_MESSAGES}:Error"], "status": str(error.status), **kind, "detail": error.detail}


def _meta(kind: str, location: str, made_at: datetime, changed_at: datetime) -> Json:
    return {"resourceType": kind, "created": made_at.isoformat(), "lastModified": changed_at.isoformat(), "location": location}


MAX_RESULTS = 200

_CORE = "urn:ietf:params:scim:schemas:core:2.0"


def service_provider_config(base: str) -> Json:
    """The supported features. ``base``: the base URL of SCIM, with a slash at the end."""
    no = {"supported": False}
    return {
        "schemas": [f"{_CORE}:ServiceProviderConfig"],
        "patch": {"supported": True},
        "bulk": no | {"maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MAX_RESULTS},
        "changePassword": no,
        "sort": no,
        "etag": no,
        "authenticationSchemes": [
            {"type": "oauthbearertoken", "name": "Bearer token", "description": "The token that the operator created.", "primary": True}
        ],
        "meta": {"resourceType": "ServiceProviderConfig", "location": f"{base}ServiceProviderConfig"},
    }


def resource_types(base: str) -> list[Json]:
    return [
        {
            "schemas": [f"{_CORE}:ResourceType"],
            "id": name,
            "name": name,
            "endpoint": f"/{name}s",
            "schema": schema,
            "meta": {"resourceType": "ResourceType", "location": f"{base}ResourceTypes/{name}"},
        }
        for name, schema in (("User", USER), ("Group", GROUP))
    ]


def schemas(base: str) -> list[Json]:
    """The schemas, with the attributes that are stored. All other attributes are ignored."""
    name = _field("name", "complex") | {"subAttributes": [_field("givenName"), _field("familyName")]}
    emails = _field("emails", "complex") | {
        "multiValued": True,
        "subAttributes": [_field("value"), _field("type"), _field("primary", "boolean")],
    }
    members = _field("members", "complex") | {"multiValued": True, "subAttributes": [_field("value"), _field("display")]}
    user_name = _field("userName", is_required=True) | {"uniqueness": "server"}
    user = [user_name, _field("externalId", is_required=True) | {"caseExact": True}, name, emails, _field("active", "boolean")]
    group = [_field("displayName", is_required=True) | {"uniqueness": "server"}, _field("externalId") | {"caseExact": True}, members]
    return [_schema(base, USER, "User", user), _schema(base, GROUP, "Group", group)]


def _schema(base: str, key: str, name: str, attributes: list[Json]) -> Json:
    meta = {"resourceType": "Schema", "location": f"{base}Schemas/{key}"}
    return {"schemas": [f"{_CORE}:Schema"], "id": key, "name": name, "attributes": attributes, "meta": meta}


def _field(name: str, kind: str = "string", *, is_required: bool = False) -> Json:
    return {
        "name": name,
        "type": kind,
        "multiValued": False,
        "required": is_required,
        "caseExact": False,
        "mutability": "readWrite",
        "returned": "default",
        "uniqueness": "none",
    }
