"""The operator's name, mark and colour are on every page; checks report unusable values, and the product's own are used instead."""

import re
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from chatui.models.conversation import Conversation
from chatui.models.user import User
from chatui.site import mark
from tests.chatui.conftest import signed_in
from tests.support.environment import change
from tests.support.system_checks import said

pytestmark = pytest.mark.django_db

SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#a04"/></svg>'


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\x00\xaa\x00\x44")) + chunk(b"IEND", b"")


@pytest.fixture(autouse=True)
def _somebody(ada: User) -> None:
    """Without an account, every page is the one that makes the first."""


@pytest.fixture
def branded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mark.svg"
    path.write_bytes(SVG)
    change(monkeypatch, {"name": "Ask <Physics>", "mark": path, "accent": "#aa0044"})
    return path


def test_every_page_has_the_name_the_mark_and_the_colour(branded: Path, ada: User, sam: User, conversation: Conversation) -> None:
    pages = {
        path: signed_in(ada).get(path) for path in ("/", f"/c/{conversation.pk}/", "/import/", "/shares/", "/pages/help/", "/nowhere/")
    }
    pages |= {path: Client().get(path) for path in ("/sign-in/", "/s/none/")}
    for path, response in pages.items():
        text = response.content.decode()
        title = re.search(r"<title>(.*?)</title>", text)
        assert title and title[1].endswith("Ask &lt;Physics&gt;") and "chatui" not in title[1], path
        assert re.search(r'<link rel="icon" type="image/svg\+xml"\s+href="/brand/\w+/mark.svg">', text), path
        assert re.search(r'<link rel="stylesheet" href="/brand/\w+/site.css">', text), path
        assert "Ask <Physics>" not in text


def test_the_files_are_public_and_cacheable(branded: Path) -> None:
    page = Client().get("/sign-in/").content.decode()
    [sheet] = set(re.findall(r"/brand/\w+/site\.css", page))
    [picture] = set(re.findall(r"/brand/\w+/mark\.svg", page))
    served = Client().get(sheet)
    assert served["Content-Type"] == "text/css; charset=utf-8" and "immutable" in served["Cache-Control"]
    assert (
        "--accent: light-dark(#aa0044, #" in served.content.decode()
        and "Set-Cookie" not in served
        and "Cookie" not in served.get("Vary", "")
    )
    image = Client().get(picture)
    assert (image.content, image["Content-Type"], image["X-Content-Type-Options"]) == (SVG, "image/svg+xml", "nosniff")
    policy = image["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "sandbox" in policy and "script-src" not in policy
    for wrong in (sheet.replace("site", "other"), re.sub(r"brand/\w+", "brand/0", sheet), picture.replace("svg", "png"), "/brand/x/../x"):
        assert Client().get(wrong).status_code == 404


def test_another_colour_has_another_url(branded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = re.findall(r"/brand/\w+/site\.css", Client().get("/sign-in/").content.decode())
    change(monkeypatch, {"accent": "#0044aa"})
    assert re.findall(r"/brand/\w+/site\.css", Client().get("/sign-in/").content.decode()) != before


def test_a_png_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "anything"
    path.write_bytes(png())
    change(monkeypatch, {"mark": path})
    [picture] = set(re.findall(r"/brand/\w+/mark\.png", Client().get("/sign-in/").content.decode()))
    assert Client().get(picture)["Content-Type"] == "image/png" and said() == []


def test_without_settings_no_brand_file_is_requested() -> None:
    text = Client().get("/sign-in/").content.decode()
    assert "/brand/" not in text and "<title>Sign in · chatui</title>" in text
    assert said() == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "neither SVG nor PNG"),
        (b"<html><svg></svg></html>", "neither SVG nor PNG"),
        (b"<svg>" + b" " * mark.MAX_BYTES, "more than 64 KB"),
        (b"<svg><script>alert(1)</script></svg>", "an SVG with a script"),
        (b"<svg onload='alert(1)'/>", "an SVG with a script"),
        (b"<svg><foreignObject/></svg>", "an SVG with a script"),
        (b"<svg><a href='javascript:alert(1)'/></svg>", "an SVG with a script"),
        (b"<svg><image href='https://example.org/x.png'/></svg>", "an SVG with a script"),
        (b"<svg><rect fill='url(https://example.org/x)'/></svg>", "an SVG with a script"),
        (b'<!DOCTYPE svg [<!ENTITY x "y">]><svg>&x;</svg>', "neither SVG nor PNG"),
        (None, "does not name a file"),
    ],
    ids=lambda value: value[:30] if isinstance(value, bytes) else None,
)
def test_a_mark_that_cannot_be_used_is_refused_by_the_check_and_not_served(
    data: bytes | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mark"
    if data is not None:
        path.write_bytes(data)
    change(monkeypatch, {"mark": path})
    [problem] = said("E007")
    assert expected in problem.msg
    assert "/brand/" not in Client().get("/sign-in/").content.decode()


def test_a_gradient_within_the_picture_is_not_an_external_url(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    path.write_bytes(b"<!-- made by hand --><svg><use href='#a'/><rect fill=\"url(#b)\"/></svg>")
    assert mark.read(path).content_type == "image/svg+xml"


@pytest.mark.parametrize("name", ["   ", "x" * 41, "a\u202eb"])
def test_a_name_that_fits_into_no_title_is_refused_and_the_products_own_is_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"name": name})
    assert said("E006")
    assert "<title>Sign in · chatui</title>" in Client().get("/sign-in/").content.decode()


@pytest.mark.parametrize(
    ("accent", "expected"),
    [
        ("red", ["chatui.E008"]),
        ("#0b6355", ["dark theme, and WCAG AA requires 4.5:1."]),
        ("#ffcc00", ["contrast of only 1.2:1 in the light theme"]),
        ("#808080", ["light theme", "dark theme"]),
        ("", []),
    ],
)
def test_a_colour_is_checked_in_both_themes(accent: str, expected: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, {"accent": accent})
    problems = said("E008", "W019")
    assert [words in f"{problem.id} {problem.msg}" for words, problem in zip(expected, problems, strict=True)] == [True] * len(expected)
