"""Converting an MCP server's tools into our own."""

import time
from typing import Any

import pytest

from tests.chatui.tools.mcp.calls import ADD, listing
from tests.chatui.tools.remote.test_schemas import deep, doubling


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
        {"inputSchema": {"properties": {"a-b": {}, "a_b": {}}}},
        {"inputSchema": {"properties": {f"p{n}": {} for n in range(80)}}},
        {"inputSchema": {"properties": {"a": doubling(30)}, "$defs": doubling(30)["$defs"]}},
        {"inputSchema": {"properties": {"a": deep(400)}}},
        {"inputSchema": {"properties": {"a": {"$ref": "https://evil.example/schema"}}}},
        {"inputSchema": {"properties": {"a": {"enum": ["}; type x = {"]}}}},
    ],
)
def test_invalid_tools_are_refused_quickly(listed: Any) -> None:
    started = time.process_time()
    tool = {**ADD, **listed} if listed else {"name": "add"}
    found = listing("demo", ["add"], [tool])
    assert not found.offers and len(found.problems["add"].split()) > 2 and time.process_time() - started < 2


def test_two_tools_with_one_name_are_both_dropped() -> None:
    assert listing("demo", ["add"], [ADD, {**ADD, "description": "Another"}]).problems
    assert not listing("demo", ["add"], [None, 3, "add", {"name": ["add"]}]).offers
