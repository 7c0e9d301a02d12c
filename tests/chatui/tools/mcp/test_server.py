"""Converting an MCP server's tools into our own."""

import time
from typing import Any

import pytest

from tests.support.mcp_calls import ADD, listing


def test_arguments_get_valid_names_mapped_to_the_servers() -> None:
    schema = {
        "type": "object",
        "properties": {"page-id": {"$ref": "#/$defs/id"}, "deep": {"type": "object", "properties": {"x": {"type": "string"}}}},
        "required": ["page-id"],
        "$defs": {"id": {"type": "integer", "description": "Which\none <|end|>"}},
    }
    found = listing("wiki", ["get-page"], [{"name": "get-page", "description": "Opens a page", "inputSchema": schema}]).offers["get-page"]
    assert (found.name, found.remote, found.places["page_id"].name) == ("wiki_get_page", "get-page", "page-id")
    assert found.parameters["properties"]["page_id"] == {"type": "integer", "description": "Which one end|>"}
    assert found.parameters["required"] == ["page_id"] and found.parameters["additionalProperties"] is False


@pytest.mark.parametrize(
    "listed",
    [
        {},
        {"description": "\u200b"},
        {"description": 3},
        {"inputSchema": None},
        {"inputSchema": {"properties": {"a": {"x-mcp-header": "A"}}}},
        {"inputSchema": {"properties": {f"p{n}": {} for n in range(80)}}},
        {"inputSchema": {"properties": {"a": {"$ref": "https://evil.example/schema"}}}},
        {"inputSchema": {"properties": {"a": {"enum": ["}; type x = {"]}}}},
    ],
)
def test_invalid_tools_are_refused_quickly(listed: Any) -> None:
    started = time.process_time()
    tool = {**ADD, **listed} if listed else {"name": "add"}
    found = listing("demo", ["add"], [tool])
    assert not found.offers and len(found.problems["add"].split()) > 2 and time.process_time() - started < 2


def test_arguments_whose_names_collide_are_told_apart() -> None:
    schema = {"properties": {"page-size": {"type": "integer"}, "page_size": {"type": "integer"}, "ключ": {}, "é": {}}}
    offer = listing("demo", ["add"], [{**ADD, "inputSchema": schema}]).offers["add"]
    assert {place.name for place in offer.places.values()} == set(schema["properties"])
    assert all(name.isascii() and name.isidentifier() for name in offer.places)
    assert offer.named(dict.fromkeys(offer.places, 1)) == dict.fromkeys(schema["properties"], 1)


def test_two_tools_with_one_name_are_both_dropped() -> None:
    assert listing("demo", ["add"], [ADD, {**ADD, "description": "Another"}]).problems
    assert not listing("demo", ["add"], [None, 3, "add", {"name": ["add"]}]).offers
