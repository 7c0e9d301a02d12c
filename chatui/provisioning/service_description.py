"""The SCIM service description: features, resource types and schemas (RFC 7643, sections 5 to 7)."""

from __future__ import annotations

from chatui.provisioning.resources import GROUP, USER, Json

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
    """The resource types: people and groups."""
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
    user = [user_name, _field("externalId"), name, emails, _field("active", "boolean")]
    group = [_field("displayName", is_required=True) | {"uniqueness": "server"}, _field("externalId"), members]
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
