"""Writes accounts, groups, lists and errors as SCIM resources (RFC 7643, 7644)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from chatui.models import ProvisionedAccount, ProvisionedGroup
from chatui.provisioning.errors import ScimError

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
_MESSAGES = "urn:ietf:params:scim:api:messages:2.0"

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
    """An error."""
    kind = {"scimType": error.kind} if error.kind else {}
    return {"schemas": [f"{_MESSAGES}:Error"], "status": str(error.status), **kind, "detail": error.detail}


def _meta(kind: str, location: str, made_at: datetime, changed_at: datetime) -> Json:
    return {"resourceType": kind, "created": made_at.isoformat(), "lastModified": changed_at.isoformat(), "location": location}
