"""What an MCP server lists as resources, and what it returns for one: inert, bounded, and named so that it is read by its kind."""

import base64
from typing import Any

import pytest

from chatui.web.tool_resources import TOKEN_CHARS
from tests.support.cases import for_each
from tests.support.limits import limit
from tests.support.mcp_picks import NotGivenError, NotShownError, library
from tests.support.mcp_server import called

URI_CHARS = limit("chatui.tools.mcp", "URI_CHARS")


def resource(**fields: Any) -> dict[str, Any]:
    return {"uri": "notes://a", "name": "a", **fields}


@for_each(
    [
        None,
        "text",
        {},
        resource(uri=3),
        resource(uri="no address"),
        resource(uri="javascript:\nalert(1)"),
        resource(uri="notes://" + "a" * 3000),
        resource(annotations={"audience": ["user"]}),
    ]
)
def test_what_has_no_usable_address_or_is_for_the_person_alone_is_left_out_and_counted(entry: Any) -> None:
    with library() as server:
        page = server.page(resources={"resources": [entry, resource()]})
    assert [(each.uri, each.name) for each, _ in page.resources] == [("notes://a", "a")] and page.left_out == 1


def test_the_token_of_any_resource_fits_into_a_request() -> None:
    words = "\U0001f600" * 10_000
    entry = resource(uri=f"a:{words[:URI_CHARS]}", name=words, description=words, mimeType=words, size=10**18)
    with library() as server:
        page = server.page(resources={"resources": [entry]})
        assert not page.left_out and 1000 < len(server.picks[0]) <= TOKEN_CHARS


@for_each(["2", "c" * 3900, "é" * 660])
def test_a_next_page_can_be_asked_for(cursor: str) -> None:
    with library() as server:
        more = server.page(resources={"resources": [resource()], "nextCursor": cursor}).more
        following = server.page(more, resources={"resources": [resource(name="b")]})
    assert [each.name for each, _ in following.resources] == ["b"] and not following.more
    assert called(server.mcp, "resources/list")[-1]["params"]["cursor"] == cursor


@for_each([None, "", 3, ["2"], "1", "c" * 4000, "é" * 4000, '"' * 3000])
def test_a_page_that_would_never_come_or_has_too_long_an_address_is_not_offered(cursor: Any) -> None:
    with library() as server:
        more = server.page(resources={"resources": [], "nextCursor": "1"}).more
        assert more and server.page(more, resources={"resources": [resource()], "nextCursor": cursor}).more == ""


def test_words_of_a_server_are_bounded_single_lines() -> None:
    entry = resource(
        title="<b>\u202eA\nB</b>" + "x" * 500, description="\n<|start|>" + "y" * 9000, mimeType="text/plain\n" + "z" * 300, size=-1
    )
    with library() as server:
        page = server.page(resources={"resources": [entry]})
    [(found, _)] = page.resources
    assert page.left_out == 0 and found.size is None
    assert len(found.name) <= 100 and len(found.description) <= 300 and len(found.media_type) <= 100
    for text in (found.name, found.description, found.media_type):
        assert text and "\n" not in text and "\u202e" not in text and "<|" not in text


@for_each(
    [
        *("notes://a", "notes://{path*}", "notes://{?query}", "notes://{+path}", "notes://{a", "{scheme}", "a://{a}{b}{c}{d}{e}{f}"),
        "notes://{a}/{+path}",
    ]
)
def test_templates_that_a_person_cannot_fill_in_are_left_out(pattern: str) -> None:
    with library() as server:
        page = server.page(templates={"resourceTemplates": [{"uriTemplate": pattern, "name": "a"}]})
    assert (page.templates, page.left_out) == ((), 1)


def test_a_value_stays_in_its_place() -> None:
    with library() as server:
        book, long = "books://{author}/{title}?of={author}", "a://{a}{b}{c}{d}"
        [(template, _)] = server.page(templates={"resourceTemplates": [{"uriTemplate": book, "name": "book"}]}).templates
        assert template.fields == ("author", "title")
        server.contents({"contents": [{"text": "a"}]}, author="A/../{title}?x#y", title="Ü %2e")
        [asked] = called(server.mcp, "resources/read")
        assert asked["params"]["uri"] == "books://A%2F..%2F%7Btitle%7D%3Fx%23y/%C3%9C%20%252e?of=A%2F..%2F%7Btitle%7D%3Fx%23y"
        for values in ({"author": "a"}, {"author": "a", "title": ""}, {"author": "..", "title": "b"}, {"author": "a" * 501, "title": "b"}):
            with pytest.raises(NotShownError):
                server.contents(**values)
        server.page(templates={"resourceTemplates": [{"uriTemplate": long, "name": "a"}]})
        assert server.contents(**dict.fromkeys("abcd", "e" * 450)), "the premise"
        with pytest.raises(NotShownError):
            server.contents(**dict.fromkeys("abcd", "é" * 450))
        assert len(called(server.mcp, "resources/read")) == 2


@for_each(
    [
        ("Weekly notes", "notes://w", "text/markdown", True, "Weekly notes.md"),
        ("Version 1.2", "notes://w", "text/plain", True, "Version 1.2.txt"),
        ("readme", "file:///x/readme.md", "text/plain", True, "readme.md"),
        ("readme", "file:///x/my%20notes.md?a#b", "", True, "my notes.md"),
        ("table", "db://t", "text/csv; charset=utf-8", True, "table.csv"),
        ("a.json", "api://1", "application/problem+json", True, "a.json"),
        ("fault", "api://1", "application/problem+json", True, "fault.json"),
        ("feed", "api://1", "application/atom+xml", True, "feed.xml"),
        ("report", "file:///report.pdf", "application/pdf", False, "report.pdf"),
        ("report.docx", "drive://9", "application/pdf", False, "report.docx.pdf"),
        ("report", "drive://9", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", False, "report.docx"),
        ("photo", "file:///photo.png", "", False, "photo.png"),
        ("anything", "x://[", "application/octet-stream", False, "anything"),
    ]
)
def test_a_content_is_named_so_that_it_is_read_by_its_kind(name: str, uri: str, media_type: str, is_text: bool, expected: str) -> None:
    body = {"text": "ä"} if is_text else {"blob": base64.b64encode(b"bytes").decode()}
    with library() as server:
        server.page(resources={"resources": [resource(uri=uri, name=name)]})
        found = server.contents({"contents": [{"uri": uri, "mimeType": media_type, **body}]})
    assert found == [(expected, "ä".encode() if is_text else b"bytes")]


@for_each(
    [
        {},
        {"contents": []},
        {"contents": "text"},
        {"contents": [None]},
        {"contents": [{"uri": "a://b"}]},
        {"contents": [{"blob": "not base64!"}]},
        {"contents": [{"blob": "YW!Jj"}]},
        {"contents": [{"text": "a"}] * 11},
        {"contents": [{"text": "a", "annotations": {"audience": ["user"]}}]},
        {"contents": [{"text": "a"}], "resultType": "input_required"},
    ]
)
def test_what_cannot_be_attached_is_an_error_without_the_servers_words(answer: Any) -> None:
    with library() as server:
        server.page(resources={"resources": [resource()]})
        with pytest.raises(NotGivenError, match=r"^the server returned (no|a) content that can(not)? be (attached|decoded)$"):
            server.contents(answer)
