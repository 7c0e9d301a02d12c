"""Rewrites operations of Swagger 2.0 as those of OpenAPI 3 (specifications of OpenAPI 3.0.3 and of 2.0).

References stay as they are: ``#/definitions/…`` is in the same document. The operator's address takes the place of ``host`` and
``basePath``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chatui.json_schemas import listed_in, mapping

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
_OF_PARAMETER = ("name", "in", "description", "required", "allowEmptyValue", "collectionFormat")
_STYLES = {"ssv": "spaceDelimited", "pipes": "pipeDelimited", "tsv": "tabDelimited"}


def rewritten(
    root: Mapping[str, Any], definition: Mapping[str, Any], parameters: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """The definition with a ``requestBody``, and the parameters without those that it is made of. ``parameters``: resolved, those of the
    path first."""
    by_place = {(each.get("in"), each.get("name")): each for each in parameters}
    kinds = [str(each) for each in listed_in(definition, "consumes") or listed_in(root, "consumes")]
    bodies = [each for each in by_place.values() if each.get("in") == "body"]
    fields = [each for each in by_place.values() if each.get("in") == "formData"]
    others = tuple(_parameter(each) for each in by_place.values() if each.get("in") not in ("body", "formData"))
    if bodies:
        return {**definition, "requestBody": _body(bodies[0], kinds or ["application/json"])}, others
    return ({**definition, "requestBody": _form(fields, kinds)} if fields else dict(definition)), others


def _parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = {name: value for name, value in parameter.items() if name not in _OF_PARAMETER and not name.startswith("x-")}
    found = {name: parameter[name] for name in ("name", "in", "description", "required") if name in parameter}
    written = parameter.get("collectionFormat", "csv")
    if schema.get("type") == "array":
        found |= {"explode": written == "multi"} | ({"style": _STYLES[written]} if written in _STYLES else {})
    return {**found, "schema": schema}


def _body(parameter: Mapping[str, Any], kinds: Sequence[str]) -> dict[str, Any]:
    about = {"description": parameter["description"]} if isinstance(parameter.get("description"), str) else {}
    schema = parameter.get("schema", True)
    return {**about, "required": parameter.get("required") is True, "content": {kind: {"schema": schema} for kind in kinds}}


def _form(fields: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> dict[str, Any]:
    rewritten_fields = [_parameter(each) for each in fields]
    properties = {str(each["name"]): _described(each) for each in rewritten_fields if "name" in each}
    required = [str(each["name"]) for each in rewritten_fields if each.get("required") is True and "name" in each]
    has_file = any(mapping(properties, name).get("format") == "binary" for name in properties)
    encoding = {str(each["name"]): {"explode": each["explode"]} for each in rewritten_fields if "explode" in each and "name" in each}
    schema = {"type": "object", "properties": properties, "required": required}
    chosen = [kind for kind in kinds if kind in (FORM, MULTIPART)] or [MULTIPART if has_file else FORM]
    return {"required": bool(required), "content": {kind: {"schema": schema, "encoding": encoding} for kind in chosen}}


def _described(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = dict(mapping(parameter, "schema"))
    if schema.get("type") == "file":
        schema |= {"type": "string", "format": "binary"}
    if isinstance(parameter.get("description"), str):
        schema["description"] = parameter["description"]
    return schema
