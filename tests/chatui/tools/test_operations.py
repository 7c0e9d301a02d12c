"""Shapes of operations in published OpenAPI documents: what becomes of each, and the request that its call sends."""

import json
from email import message_from_bytes
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.support.tool_calls import RefusedError
from tests.support.wiki import WIKI, Operation, document, lister, operation

STRING, FORM = {"type": "string"}, "application/x-www-form-urlencoded"


def offer_of(tmp_path: Path, definition: dict[str, Any], path: str = "/x", method: str = "post", **root: Any) -> Operation:
    return operation(tmp_path, definition, path, method, **root)


def body(kind: str, schema: Any, **media: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema, **media}}}}


def test_an_operation_without_an_id_is_named_by_its_method_and_path(tmp_path: Path) -> None:
    offer = offer_of(tmp_path, {}, "/characters/{id}", "get")
    assert (offer.tool.name, offer.remote) == ("wiki_get_characters_id", "GET /characters/{id}")
    assert offer.tool.description == "GET /characters/:id." and offer.required == ["id"]
    assert offer.sent(id="a b").path == "/api/characters/a%20b"


def test_an_operation_without_a_summary_is_described_by_its_id(tmp_path: Path) -> None:
    assert offer_of(tmp_path, {"operationId": "getMyApplication_v2"}).tool.description == "Get my application v2 (POST /x)."


def test_what_is_in_another_file_is_said_to_be_there(tmp_path: Path) -> None:
    content = {"openapi": "3.0.0", "paths": {"/a": {"get": {"$ref": "a.yaml"}}, "/b": {"$ref": "b.yaml"}}}
    assert "2 of its operations or paths are in other files" in document(tmp_path, content).problems["searchPages"]


@pytest.mark.parametrize("kind", ["application/merge-patch+json", "application/vnd.api+json", "application/json-patch+json", "text/json"])
def test_a_body_of_any_json_type_is_sent_as_that(kind: str, tmp_path: Path) -> None:
    offer = offer_of(tmp_path, body(f"{kind}; charset=utf-8", {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}))
    request = offer.sent(body={"a": None})
    assert (json.loads(request.body), request.headers["content-type"]) == ({"a": None}, kind)


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "text/markdown", "application/octet-stream"])
def test_a_body_of_text_is_a_text(kind: str, tmp_path: Path) -> None:
    offer = offer_of(tmp_path, body(kind, {"type": "object"}))
    assert offer.arguments["body"]["type"] == "string"
    request = offer.sent(body="<a>ö</a>")
    assert request.body.decode() == "<a>ö</a>" and request.headers["content-type"].startswith(kind)


NESTED = {"type": "object", "properties": {"n": STRING, "o": {"type": "object"}, "l": {"type": "array", "items": STRING}}}
VALUE: dict[str, Any] = {"n": "a b", "o": {"k": ["x", {"y": 1}]}, "l": ["p", "q"]}


@pytest.mark.parametrize(
    ("encoding", "fields"),
    [
        ({}, [("n", "a b"), ("o", '{"k": ["x", {"y": 1}]}'), ("l", "p"), ("l", "q")]),
        (
            {"o": {"style": "deepObject", "explode": True}, "l": {"explode": False}},
            [("n", "a b"), ("o[k][0]", "x"), ("o[k][1][y]", "1"), ("l", "p,q")],
        ),
        ({"l": {"style": "deepObject"}, "o": {"contentType": "application/json"}}, [
            ("n", "a b"), ("o", '{"k": ["x", {"y": 1}]}'), ("l[0]", "p"), ("l[1]", "q"),
        ]),
    ],
)  # fmt: skip
def test_a_form_is_written_by_its_encoding(encoding: dict[str, Any], fields: list[tuple[str, str]], tmp_path: Path) -> None:
    request = offer_of(tmp_path, body(FORM, NESTED, encoding=encoding)).sent(body=VALUE)
    assert parse_qsl(request.body.decode()) == fields and request.headers["content-type"] == FORM


def test_a_multipart_form_has_its_fields_and_files(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"purpose": STRING, "file": {"type": "string", "format": "binary"}}, "required": ["file"]}
    request = offer_of(tmp_path, body("multipart/form-data", schema)).sent(body={"purpose": "x", "file": "a,b\r\n--ö"})
    message = message_from_bytes(b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n" + request.body)
    parts: Any = message.get_payload()
    assert (parts[0].get_param("name", header="content-disposition"), parts[0].get_payload()) == ("purpose", "x")
    assert parts[1].get_filename() == "file.txt" and parts[1].get_payload(decode=True).decode() == "a,b\r\n--ö"


def test_no_field_of_a_form_adds_another_header(tmp_path: Path) -> None:
    schema = {"type": "object", "additionalProperties": True}
    request = offer_of(tmp_path, body("multipart/form-data", schema)).sent(body={'x"\r\nX-Evil: 1': "y"})
    assert b'name="x%22%0D%0AX-Evil: 1"' in request.body


@pytest.mark.parametrize(
    ("parameter", "reason"),
    [
        ({"in": "query", "style": "matrix", "schema": STRING}, "unsupported style"),
        ({"in": "header", "schema": STRING}, "must not set"),
        ({"in": "cookie", "schema": STRING}, "must not set"),
        ({"in": "query", "schema": {"$ref": "other.yaml"}}, "another document"),
        ({"in": "query", "schema": {"enum": ["<|end|>"]}}, "cannot be shown"),
    ],
)
def test_an_optional_parameter_that_cannot_be_carried_is_left_out_and_listed(
    parameter: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    offer = offer_of(tmp_path, {"parameters": [{"name": "odd", **parameter}, {"name": "q", "in": "query", "schema": STRING}]})
    assert list(offer.arguments) == ["q"]
    [line] = offer.left_out
    assert line.startswith("odd (") and reason in line


def test_the_needed_parameters_stay_of_too_many(tmp_path: Path) -> None:
    parameters = [{"name": f"p{n}", "in": "query", "required": n > 60, "schema": STRING} for n in range(70)]
    offer = offer_of(tmp_path, {"parameters": parameters})
    assert len(offer.arguments) == 50 and set(offer.required) == {f"p{n}" for n in range(61, 70)} and len(offer.left_out) == 20


def test_optional_parameters_are_left_out_of_a_schema_that_is_too_large(tmp_path: Path) -> None:
    large = {"type": "object", "properties": {f"f{n}": {"type": "string", "description": "x" * 280} for n in range(35)}}
    parameters = [{"name": f"p{n}", "in": "query", "description": "y" * 280, "schema": STRING} for n in range(30)]
    offer = offer_of(tmp_path, {"parameters": parameters, **body("application/json", large)})
    assert "body" in offer.arguments and "16000 characters" in offer.left_out[-1] and 5 < len(offer.arguments) < 31


@pytest.mark.parametrize(
    ("parameter", "value", "query"),
    [
        ({"content": {"application/json": {"schema": {"type": "object"}}}}, {"a": [1]}, [("q", '{"a": [1]}')]),
        ({"style": "deepObject", "schema": {"type": "object"}}, {"a": {"b": ["c"]}}, [("q[a][b][0]", "c")]),
        ({"style": "pipeDelimited", "schema": {"type": "array"}}, ["a", "b"], [("q", "a|b")]),
        ({}, "x", [("q", "x")]),
    ],
)
def test_a_parameter_is_written_in_its_style(parameter: dict[str, Any], value: Any, query: list[tuple[str, str]], tmp_path: Path) -> None:
    offer = offer_of(tmp_path, {"parameters": [{"name": "q", "in": "query", **parameter}]})
    assert parse_qsl(urlsplit(offer.sent(q=value).path).query) == query


def test_what_a_path_says_of_the_query_is_sent_and_what_is_behind_a_hash_is_not(tmp_path: Path) -> None:
    offer = offer_of(tmp_path, {"parameters": [{"name": "q", "in": "query", "schema": STRING}]}, "/messages?beta=true")
    assert offer.sent(q="&beta=false").path == "/api/messages?beta=true&q=%26beta%3Dfalse"
    assert offer_of(tmp_path, {}, "/oauth2/token#refresh").sent().path == "/api/oauth2/token"


SWAGGER: dict[str, Any] = {
    "swagger": "2.0", "host": "evil.example", "basePath": "/v1", "consumes": ["application/json"],
    "securityDefinitions": {"key": {"type": "apiKey", "in": "query", "name": "token"}},
    "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {"name": STRING, "tag": {"type": "string"}}}},
    "parameters": {"limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 9}},
    "paths": {
        "/pets": {
            "parameters": [{"$ref": "#/parameters/limit"}],
            "get": {"operationId": "list", "summary": "Lists pets", "parameters": [
                {"name": "tags", "in": "query", "type": "array", "items": STRING, "collectionFormat": "multi"},
                {"name": "ids", "in": "query", "type": "array", "items": {"type": "integer"}, "collectionFormat": "pipes"},
                {"name": "kinds", "in": "query", "type": "array", "items": STRING}, {"name": "token", "in": "query", "type": "string"},
            ]},
            "post": {"operationId": "add", "summary": "Adds a pet", "parameters": [
                {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}},
            ]},
            "put": {"operationId": "send", "summary": "Sends a form", "parameters": [
                {"name": "name", "in": "formData", "type": "string", "required": True},
                {"name": "tags", "in": "formData", "type": "array", "items": STRING, "collectionFormat": "multi"},
            ]},
            "patch": {"operationId": "upload", "summary": "Uploads", "parameters": [{"name": "f", "in": "formData", "type": "file"}]},
        },
    },
}  # fmt: skip


def test_swagger_2_is_read(tmp_path: Path) -> None:
    found = document(tmp_path, SWAGGER, operations=["list", "add", "send", "upload"])
    assert not found.problems
    lists, adds, sends, uploads = (found.tools[name] for name in ("list", "add", "send", "upload"))
    assert lists.arguments["limit"]["maximum"] == 9 and "token" not in lists.arguments
    url = lists.sent(tags=["a", "b"], ids=[1, 2], kinds=["c", "d"], limit=3).path
    assert sorted(parse_qsl(urlsplit(url).query)) == [("ids", "1|2"), ("kinds", "c,d"), ("limit", "3"), ("tags", "a"), ("tags", "b")]
    assert url.startswith("/api/pets?"), "the operator's address takes the place of the host and the base path"
    assert adds.arguments["body"]["required"] == ["name"] and json.loads(adds.sent(body={"name": "x"}).body) == {"name": "x"}
    assert parse_qsl(sends.sent(body={"name": "x", "tags": ["a", "b"]}).body.decode()) == [("name", "x"), ("tags", "a"), ("tags", "b")]
    upload = uploads.sent(body={"f": "text"})
    assert upload.headers["content-type"].startswith("multipart/form-data;") and b'filename="f.txt"' in upload.body


def test_a_large_document_is_read_for_a_few_operations(tmp_path: Path) -> None:
    paths = {f"/p{n}": {"get": {"operationId": f"p{n}", "summary": "x" * 2000}} for n in range(3000)}
    found = document(tmp_path, {**WIKI, "paths": {**WIKI["paths"], **paths}}, operations=["p2999"])
    assert (tmp_path / "wiki.json").stat().st_size > 6_000_000 and set(found.tools) == {"p2999"}


def test_a_document_is_read_again_only_if_it_has_changed(tmp_path: Path) -> None:
    listed = lister(tmp_path)
    first = listed()
    assert listed() is first
    (tmp_path / "wiki.json").write_text(json.dumps({**WIKI, "paths": {}}))
    assert listed() is not first


def test_aliases_of_yaml_are_read_within_the_limit_of_size(tmp_path: Path) -> None:
    yaml = "openapi: '3.0.0'\nx: &x {get: {operationId: a, summary: Does}}\npaths: {/a: *x}\n"
    assert document(tmp_path, yaml, operations=["a"]).tools["a"].sent().path == "/api/a"


def test_a_value_that_is_nested_too_deeply_for_a_form_is_refused(tmp_path: Path) -> None:
    value: Any = "x"
    for _ in range(20):
        value = {"a": value}
    offer = offer_of(tmp_path, {"parameters": [{"name": "q", "in": "query", "style": "deepObject", "schema": {"type": "object"}}]})
    with pytest.raises(RefusedError, match="too deeply"):
        offer.sent(q=value)
