"""Building requests from calls: always below the operator's address and with the operator's credentials, whatever the model writes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from chatui.tools.openapi import written
from chatui.tools.remote.offers import Place
from chatui.tools.tool import ToolError
from tests.chatui.tools.openapi.wiki import offer

URL = "https://wiki.example/api"
HEADERS = {"Authorization": "Bearer right"}


def test_each_argument_goes_to_its_place(tmp_path: Path) -> None:
    request = written(
        URL,
        offer(tmp_path, "searchPages", header_parameters=["X-Tenant"]),
        {"q": "a b&api_key=EVIL", "tags": ["x", "y"], "filter": {"owner": "ö"}, "X_Tenant": "t1"},
        HEADERS,
        {"api_key": "right"},
    )
    parts = urlsplit(request.url)
    assert (request.method, parts.netloc, parts.path) == ("GET", "wiki.example", "/api/pages")
    assert parse_qsl(parts.query) == [
        ("q", "a b&api_key=EVIL"), ("tags", "x"), ("tags", "y"), ("filter[owner]", "ö"), ("api_key", "right"),
    ]  # fmt: skip
    assert request.headers["Authorization"] == "Bearer right" and request.headers["X-Tenant"] == "t1"
    assert "right" not in repr(request)


def test_a_body_is_json(tmp_path: Path) -> None:
    request = written(URL, offer(tmp_path, "addPage"), {"body": {"title": "Ü"}}, HEADERS, {})
    assert request.body == '{"title": "Ü"}'.encode() and request.headers["Content-Type"] == "application/json"


def test_no_argument_replaces_a_credential_even_if_the_offer_allows_it(tmp_path: Path) -> None:
    found = offer(tmp_path, "searchPages")
    lax = found.model_copy(update={"places": {"h": Place(part="header", name="authorization")}})
    assert "EVIL" not in str(dict(written(URL, lax, {"h": "EVIL"}, HEADERS, {}).headers))


@pytest.mark.parametrize("value", [
    "..", ".", "", "../admin", "..%2fadmin", "%2e%2e", "%252e%252e%252fadmin", "a/../../admin", "..\\admin", "a\nb", "a\x00", "..;/x",
    "..;x=1", "%2e%2e;/x", " .. ", "//evil.example", None,
])  # fmt: skip
def test_no_argument_escapes_its_place_in_the_path(value: str | None, tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        written(URL, offer(tmp_path, "getPage"), {"page_id": value, "part": "p"}, HEADERS, {})


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
    request = written(URL, offer(tmp_path, "getPage"), {"page_id": value[0], "part": "p"}, HEADERS, {})
    assert request.url == f"{URL}/pages/{value[1]}/p"


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "ü", "x" * 2000])
def test_a_header_argument_is_one_plain_line(value: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        written(URL, offer(tmp_path, "searchPages", header_parameters=["X-Tenant"]), {"q": "x", "X_Tenant": value}, HEADERS, {})


def test_the_length_of_an_address_is_limited(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="too long"):
        written(URL, offer(tmp_path, "searchPages"), {"q": "x" * 9000}, HEADERS, {})
