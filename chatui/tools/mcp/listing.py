"""Converts the tools that an MCP server lists into offers, and reads the results of calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from chatui.tools.remote.cleaned_text import cleaned
from chatui.tools.remote.names import argument_name, tool_name
from chatui.tools.remote.offer import Listing, Offer, Place
from chatui.tools.remote.schemas import reduced
from chatui.tools.tool import DESCRIPTION_CHARS, ToolError, ToolUnusableError

MAX_ARGUMENTS = 50
ERROR_CHARS = 500
_MIRRORED = "x-mcp-header"
_NO_MORE = "The tool asked for more input instead of answering, but can be given nothing except its arguments."


def listing(server: str, selected: Sequence[str], found: Sequence[Any]) -> Listing:
    """The offers for those of a server's tools (``found``) that the operator named (``selected``)."""
    offers: dict[str, Offer] = {}
    problems: dict[str, str] = {}
    for remote in selected:
        matching = [each for each in found if isinstance(each, Mapping) and each.get("name") == remote]
        if len(matching) != 1:
            problems[remote] = "the server has no such tool" if not matching else "the server has several tools of that name"
            continue
        try:
            offers[remote] = _offer(server, matching[0], tool_name(server, remote, {offer.name for offer in offers.values()}))
        except ToolUnusableError as error:
            problems[remote] = str(error)
        except RecursionError:
            problems[remote] = "its schema is nested too deeply"
    return Listing(offers=offers, problems=problems)


def _offer(server: str, definition: Mapping[str, Any], name: str) -> Offer:
    words = next((each for each in (definition.get("description"), definition.get("title")) if isinstance(each, str) and each.strip()), "")
    description = cleaned(words, DESCRIPTION_CHARS)
    if not any(map(str.isalnum, description)):
        raise ToolUnusableError("it has no description, so the model would not know what it is for")
    schema = definition.get("inputSchema")
    if not isinstance(schema, Mapping):
        raise ToolUnusableError("it has no schema")
    if _MIRRORED in json.dumps(schema):
        raise ToolUnusableError("it wants arguments as headers, which proxies may log")
    parameters, places = _arguments(schema)
    return Offer(name=name, server=server, remote=str(definition["name"]), description=description, parameters=parameters, places=places)


def _arguments(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Place]]:
    """The schema of the arguments under our own names, and the server's name for each argument."""
    declared = schema.get("properties")
    wires = list(declared) if isinstance(declared, Mapping) else []
    if len(wires) > MAX_ARGUMENTS:
        raise ToolUnusableError("it has too many arguments")
    places: dict[str, Place] = {}
    for wire in wires:
        name = argument_name(str(wire), places)
        if name is None:
            raise ToolUnusableError("it has an argument whose name cannot be shown to a model")
        places[name] = Place(part="arguments", name=str(wire))
    needed = schema.get("required")
    required = [name for name, place in places.items() if isinstance(needed, list) and place.name in needed]
    properties = {name: reduced(declared[place.name], schema) for name, place in places.items()} if isinstance(declared, Mapping) else {}
    whole: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return reduced({**whole, "required": required} if required else whole), places


def read(result: Mapping[str, Any]) -> Any:
    """The result of a call, as JSON or text. Images and audio are only mentioned.

    Raises:
        ToolError: the tool reports a failure, or requests more input.
    """
    if result.get("resultType", "complete") != "complete":
        raise ToolError(_NO_MORE)
    content = result.get("content")
    parts = [_part(each) for each in content if isinstance(each, Mapping)] if isinstance(content, list) else []
    text = "\n".join(filter(None, parts))
    if result.get("isError") is True:
        raise ToolError(f"The tool failed: {text[:ERROR_CHARS]}" if text else "The tool failed.")
    structured = result.get("structuredContent")
    return structured if isinstance(structured, dict) else text


def _part(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    if kind == "resource" and isinstance(inner := part.get("resource"), Mapping):
        return str(inner["text"]) if isinstance(inner.get("text"), str) else "[a file that is not text was returned]"
    if kind == "resource_link":
        return f"[a link was returned: {cleaned(str(part.get('uri', '')), 200)}]"
    return {"image": "[an image was returned]", "audio": "[a sound was returned]"}.get(str(kind), "")
