"""The format that a program requires of an answer: ``text.format`` of Responses, and ``response_format`` of Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatui.answer_formats import DEFAULT_NAME, DESCRIPTION_CHARS, AnswerFormat, answer_format
from chatui.api.errors import invalid, unsupported
from chatui.json_schemas import UnusableError

TEXT = {"type": "text"}


def echoed_format(text: Mapping[str, Any] | None) -> dict[str, Any]:
    """The ``format`` of a response object, which repeats that of the request's ``text``."""
    wanted = (text or {}).get("format")
    if not isinstance(wanted, Mapping) or wanted.get("type") not in ("json_schema", "json_object"):
        return TEXT
    if wanted["type"] == "json_object":
        return {"type": "json_object"}
    described = {name: wanted.get(name) for name in ("name", "description", "schema")}
    return {"type": "json_schema", **described, "strict": bool(wanted.get("strict"))}


def parsed_format(wanted: object, param: str, *, is_nested: bool) -> AnswerFormat | None:
    """The required format of an answer; None for text. ``is_nested``: its schema stands in an object of its own (Chat Completions).

    Raises:
        ApiError: it is invalid.
    """
    if wanted is None:
        return None
    if not isinstance(wanted, Mapping):
        raise invalid("The format has to be an object.", param=param)
    kind = wanted.get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return AnswerFormat(name="json_object")
    if kind != "json_schema":
        raise unsupported(f"{param}.type", "The format has to be text, json_object or json_schema.")
    place = f"{param}.json_schema" if is_nested else param
    described = wanted.get("json_schema") if is_nested else wanted
    if not isinstance(described, Mapping):
        raise invalid("The schema has to stand in an object.", param=place)
    return _described(described, place)


def _described(described: Mapping[str, Any], param: str) -> AnswerFormat:
    name, schema, description = described.get("name", DEFAULT_NAME), described.get("schema"), described.get("description") or ""
    if not isinstance(name, str) or not isinstance(description, str) or len(description) > DESCRIPTION_CHARS:
        raise invalid(f"Name and description of a format have to be text, of at most {DESCRIPTION_CHARS} characters.", param=param)
    if not isinstance(schema, Mapping):
        raise invalid("The schema has to be an object.", param=f"{param}.schema")
    try:
        return answer_format(name, schema, description, is_strict=described.get("strict") is True)
    except UnusableError as error:
        raise invalid(f"The format cannot be used: {error}.", param=f"{param}.schema") from None
