"""Converting OpenAPI operations into tools, and calls of them into requests.

The tools are named by us, without credentials as arguments, and refused with a reason if unsupported. Requests go always below the
operator's address and with the operator's credentials, whatever the model writes.
"""

import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.support.cases import for_each
from tests.support.tool_calls import RefusedError
from tests.support.wiki import WIKI, Document, UnreadableError, document, of_wiki


def test_an_operation_is_described_without_its_credentials(tmp_path: Path) -> None:
    found = of_wiki(tmp_path, "searchPages")
    assert (found.tool.name, found.tool.description) == ("wiki_search_pages", "Finds pages.")
    assert found.arguments == {
        "q": {"type": "string", "description": "Words"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "filter": {"type": "object", "properties": {"owner": {"type": "string"}}, "additionalProperties": False},
    }
    assert found.required == ["q"] and found.tool.parameters["additionalProperties"] is False


def test_a_header_is_an_argument_only_if_the_operator_names_it(tmp_path: Path) -> None:
    found = of_wiki(tmp_path, "searchPages", header_parameters=["x-tenant"])
    assert "X_Tenant" in found.arguments and "Authorization" not in found.arguments
    with pytest.raises(ValueError, match="must not set"):
        document(tmp_path, header_parameters=["Authorization"])


def test_a_body_is_an_argument_without_read_only_fields(tmp_path: Path) -> None:
    found = of_wiki(tmp_path, "addPage")
    assert found.arguments["body"]["properties"] == {"title": {"type": "string"}} and found.required == ["body"]
    request = found.sent(body={"title": "x"})
    assert (request.method, request.headers["content-type"], request.json) == ("POST", "application/json", {"title": "x"})


def test_only_configured_operations_are_listed_and_the_rest_have_reasons(tmp_path: Path) -> None:
    found = document(tmp_path, operations=["getPage", "gone"])
    assert set(found.tools) == {"getPage"} and found.problems == {"gone": "the document has no operation with that id"}
    assert found.tools["getPage"].required == ["page_id", "part"]


def listing(tmp_path: Path, operation: dict[str, Any], path: str) -> Document:
    """The tools made from one operation."""
    content = {"openapi": "3.0.3", "paths": {path: {"get": {"operationId": "op", "summary": "Does it", **operation}}}}
    return document(tmp_path, content, operations=["op"])


@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ({"parameters": [{"name": "c", "in": "cookie", "required": True, "schema": {}}]}, "/x"),
        ({"parameters": [{"name": "Host", "in": "header", "required": True, "schema": {}}]}, "/x"),
        ({"parameters": [{"name": "a", "in": "query", "required": True, "schema": {}, "style": "odd"}]}, "/x"),
        ({"parameters": [{"$ref": "#/gone"}]}, "/x"),
        ({"parameters": [{"$ref": "other.yaml#/x"}]}, "/x"),
        ({"parameters": [{"name": f"p{n}", "in": "query", "required": True, "schema": {}} for n in range(60)]}, "/x"),
        ({"parameters": [{"name": f"p{n}", "in": "query", "schema": {}} for n in range(300)]}, "/x"),
        ({"requestBody": {"required": True, "content": {}}}, "/x"),
        ({}, "/../admin"),
        ({}, "//evil.example/x"),
        ({}, "/x?y={z}"),
        ({}, "/x?y=1&u=https://evil.example"),
        ({}, "@evil.example"),
        ({"parameters": [{"name": "a", "in": "query", "required": True, "schema": {"enum": ["<|end|>"]}}]}, "/x"),
    ],
)
def test_an_unsupported_operation_is_refused(operation: dict[str, Any], path: str, tmp_path: Path) -> None:
    found = listing(tmp_path, operation, path)
    assert not found.tools and len(found.problems["op"].split()) > 3


@pytest.mark.parametrize("body", [{"required": True}, {"required": False}, {}])
@pytest.mark.parametrize("kinds", [["image/png"], ["application/zip", "application/pdf"]])
def test_an_operation_whose_body_cannot_be_sent_is_refused_with_its_media_types(body: Any, kinds: list[str], tmp_path: Path) -> None:
    found = listing(tmp_path, {"requestBody": {**body, "content": {kind: {} for kind in kinds}}}, "/x")
    assert not found.tools and found.problems == {"op": f"it has a body whose media type cannot be sent ({', '.join(kinds)})"}


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "*/*"])
def test_a_body_that_can_be_sent_as_json_is_an_argument(kind: str, tmp_path: Path) -> None:
    found = listing(tmp_path, {"requestBody": {"content": {"multipart/form-data": {}, kind: {"schema": {"type": "object"}}}}}, "/x")
    assert found.tools["op"].sent(body={}).headers["content-type"] == "application/json"


BOMB = "openapi: '3.0'\na0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
"""Nine lines that are a hundred million values."""


@for_each(["", "{", "openapi: '2.0'", "[1, 2]", "a: &a [*a]\nopenapi: '3.0'", BOMB, "{" * 100_000, "- " * 50_000, "\x00"])
def test_an_invalid_document_is_refused_at_once(text: str) -> None:
    began = time.process_time()
    with tempfile.TemporaryDirectory() as directory, pytest.raises(UnreadableError):
        document(Path(directory), text)
    assert time.process_time() - began < 3


def test_a_document_may_be_yaml_and_its_digest_covers_the_relevant_parts(tmp_path: Path) -> None:
    yaml = "openapi: 3.0.3\npaths:\n  /pages:\n    get: {operationId: searchPages, summary: Finds pages%s}\n"
    first, same, other = (
        document(tmp_path, yaml % more).tools["searchPages"].digest for more in ("", ", tags: [x]", ", description: Evil")
    )
    assert first == same != other


def test_servers_in_the_document_are_ignored(tmp_path: Path) -> None:
    search = of_wiki(tmp_path, "searchPages")
    assert search.sent(q="x").path == "/api/pages?q=x", "the operator's server is asked, under the operator's address"
    assert "evil" not in str(search.tool) and "evil" in str(WIKI)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The operator's."""
    monkeypatch.setenv("WIKI_TOKEN", "right")
    return {"headers": {"Authorization": {"env": "WIKI_TOKEN", "prefix": "Bearer "}}, "query": {"api_key": {"env": "WIKI_TOKEN"}}}


def test_each_argument_goes_to_its_place(credentials: dict[str, Any], tmp_path: Path) -> None:
    search = of_wiki(tmp_path, "searchPages", header_parameters=["X-Tenant"], **credentials)
    request = search.sent(q="a b&api_key=EVIL", tags=["x", "y"], filter={"owner": "ö"}, X_Tenant="t1")
    parts = urlsplit(request.path)
    assert (request.method, request.headers["host"].partition(":")[0], parts.path) == ("GET", "127.0.0.1", "/api/pages")
    assert parse_qsl(parts.query) == [
        ("q", "a b&api_key=EVIL"), ("tags", "x"), ("tags", "y"), ("filter[owner]", "ö"), ("api_key", "right"),
    ]  # fmt: skip
    assert request.headers["authorization"] == "Bearer right" and request.headers["x-tenant"] == "t1"


def test_no_argument_replaces_a_credential_even_if_the_operator_names_it_as_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WIKI_TENANT", "right")
    values: dict[str, Any] = {"headers": {"X-Tenant": {"env": "WIKI_TENANT"}}, "header_parameters": ["X-Tenant"]}
    search = of_wiki(tmp_path, "searchPages", **values)
    assert "X_Tenant" not in search.arguments and search.sent(q="x").headers["x-tenant"] == "right"
    with pytest.raises(RefusedError):
        search.sent(q="x", X_Tenant="EVIL")


@pytest.mark.parametrize("value", [
    "..", ".", "", "../admin", "..%2fadmin", "%2e%2e", "%252e%252e%252fadmin", "a/../../admin", "..\\admin", "a\nb", "a\x00", "..;/x",
    "..;x=1", "%2e%2e;/x", " .. ", "//evil.example", None,
])  # fmt: skip
def test_no_argument_escapes_its_place_in_the_path(value: str | None, tmp_path: Path) -> None:
    with pytest.raises(RefusedError):
        of_wiki(tmp_path, "getPage").sent(page_id=value, part="p")


@pytest.mark.parametrize(
    "value",
    [
        ("a b", "a%20b"),
        ("a/b", "a%2Fb"),
        ("a?x=1#y", "a%3Fx%3D1%23y"),
        ("@evil.example:80", "%40evil.example%3A80"),
        ("{part}", "%7Bpart%7D"),
    ],
)
def test_a_path_argument_is_one_segment(value: tuple[str, str], tmp_path: Path) -> None:
    assert of_wiki(tmp_path, "getPage").sent(page_id=value[0], part="p").path == f"/api/pages/{value[1]}/p"


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "ü", "x" * 2000])
def test_a_header_argument_is_one_plain_line(value: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be sent as a header"):
        of_wiki(tmp_path, "searchPages", header_parameters=["X-Tenant"]).sent(q="x", X_Tenant=value)


def test_the_length_of_an_address_is_limited(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="too long"):
        of_wiki(tmp_path, "searchPages").sent(q="x" * 9000)
