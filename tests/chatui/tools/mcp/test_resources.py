"""What an MCP server lists as resources, and what it returns for one: inert, bounded, and named so that it is read by its kind."""

import base64
from dataclasses import asdict
from typing import Any
from uuid import uuid4

import pytest
from django.core import signing

from chatui.tools.mcp import resources
from chatui.tools.mcp.resources import Resource, Template
from chatui.tools.remote.offers import ServerError
from chatui.web.tool_resources import TOKEN_CHARS


def resource(**fields: Any) -> dict[str, Any]:
    return {"uri": "notes://a", "name": "a", **fields}


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "text",
        {},
        resource(uri=3),
        resource(uri="no address"),
        resource(uri="javascript:\nalert(1)"),
        resource(uri="notes://" + "a" * 3000),
        resource(annotations={"audience": ["user"]}),
    ],
)
def test_what_has_no_usable_address_or_is_for_the_person_alone_is_left_out_and_counted(entry: Any) -> None:
    assert resources.listed({"resources": [entry, resource()]}) == ([Resource("notes://a", "a")], 1)


def test_the_token_of_any_resource_fits_into_a_request() -> None:
    words = "\U0001f600" * 10_000
    entry = resource(uri=f"a:{words[: resources.URI_CHARS]}", name=words, description=words, mimeType=words, size=10**18)
    [found], left_out = resources.listed({"resources": [entry]})
    assert not left_out and len(signing.dumps([str(uuid4()), "library 0123456789abcdef", asdict(found)])) <= TOKEN_CHARS


@pytest.mark.parametrize("cursor", ["2", "c" * 3900, "é" * 660])
def test_a_next_page_can_be_asked_for(cursor: str) -> None:
    assert resources.next_cursor({"nextCursor": cursor}, "1") == cursor


@pytest.mark.parametrize("cursor", [None, "", 3, ["2"], "1", "c" * 4000, "é" * 4000, '"' * 3000])
def test_a_page_that_would_never_come_or_has_too_long_an_address_is_not_offered(cursor: Any) -> None:
    assert resources.next_cursor({"nextCursor": cursor}, "1") == ""


def test_words_of_a_server_are_bounded_single_lines() -> None:
    entry = resource(
        title="<b>\u202eA\nB</b>" + "x" * 500, description="\n<|start|>" + "y" * 9000, mimeType="text/plain\n" + "z" * 300, size=-1
    )
    [found], left_out = resources.listed({"resources": [entry]})
    assert left_out == 0 and found.size is None
    assert len(found.name) <= 100 and len(found.description) <= 300 and len(found.media_type) <= 100
    for text in (found.name, found.description, found.media_type):
        assert "\n" not in text and "\u202e" not in text and "<|" not in text


@pytest.mark.parametrize(
    "pattern", ["notes://a", "notes://{path*}", "notes://{?query}", "notes://{+path}", "notes://{a", "{scheme}", "a://{a}{b}{c}{d}{e}{f}"]
)
def test_templates_that_a_person_cannot_fill_in_are_left_out(pattern: str) -> None:
    assert resources.templates({"resourceTemplates": [{"uriTemplate": pattern, "name": "a"}]}) == ([], 1)


def test_a_value_stays_in_its_place() -> None:
    [[template], _] = resources.templates({"resourceTemplates": [{"uriTemplate": "books://{author}/{title}?of={author}", "name": "book"}]})
    assert template.fields == ("author", "title")
    filled = template.filled({"author": "A/../{title}?x#y", "title": "Ü %2e"})
    assert filled.uri == "books://A%2F..%2F%7Btitle%7D%3Fx%23y/%C3%9C%20%252e?of=A%2F..%2F%7Btitle%7D%3Fx%23y"
    for values in ({"author": "a"}, {"author": "a", "title": ""}, {"author": "..", "title": "b"}, {"author": "a" * 501, "title": "b"}):
        with pytest.raises(ValueError, match="value"):
            template.filled(values)
    with pytest.raises(ValueError, match="too long"):
        Template("a://{a}{b}{c}{d}", "a", fields=("a", "b", "c", "d")).filled(dict.fromkeys("abcd", "é" * 500))


@pytest.mark.parametrize(
    ("name", "uri", "media_type", "is_text", "expected"),
    [
        ("Weekly notes", "notes://w", "text/markdown", True, "Weekly notes.md"),
        ("Version 1.2", "notes://w", "text/plain", True, "Version 1.2.txt"),
        ("readme", "file:///x/readme.md", "text/plain", True, "readme.md"),
        ("readme", "file:///x/my%20notes.md?a#b", "", True, "my notes.md"),
        ("table", "db://t", "text/csv; charset=utf-8", True, "table.csv"),
        ("a.json", "api://1", "application/problem+json", True, "a.json"),
        ("report", "file:///report.pdf", "application/pdf", False, "report.pdf"),
        ("report.docx", "drive://9", "application/pdf", False, "report.docx.pdf"),
        ("report", "drive://9", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", False, "report.docx"),
        ("photo", "file:///photo.png", "", False, "photo.png"),
        ("anything", "x://[", "application/octet-stream", False, "anything"),
    ],
)
def test_a_content_is_named_so_that_it_is_read_by_its_kind(name: str, uri: str, media_type: str, is_text: bool, expected: str) -> None:
    body = {"text": "ä"} if is_text else {"blob": base64.b64encode(b"bytes").decode()}
    [found] = resources.contents({"contents": [{"uri": uri, "mimeType": media_type, **body}]}, Resource(uri, name))
    assert (found.name, found.data) == (expected, "ä".encode() if is_text else b"bytes")


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"contents": []},
        {"contents": "text"},
        {"contents": [None]},
        {"contents": [{"uri": "a://b"}]},
        {"contents": [{"blob": "not base64!"}]},
        {"contents": [{"text": "a"}] * 11},
        {"contents": [{"text": "a", "annotations": {"audience": ["user"]}}]},
        {"contents": [{"text": "a"}], "resultType": "input_required"},
    ],
)
def test_what_cannot_be_attached_is_an_error_without_the_servers_words(result: Any) -> None:
    with pytest.raises(ServerError, match="the server returned"):
        resources.contents(result, Resource("a://b", "a"))
