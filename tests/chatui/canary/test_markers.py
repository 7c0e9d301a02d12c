"""A marker is found in whatever spelling or archive it comes out; what is no marker is not."""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import secrets
import zipfile
from collections.abc import Callable
from urllib.parse import quote

import pytest

from chatui.operations.canary.watch import Canary


def zipped(text: str) -> bytes:
    """As a member among others, compressed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "nothing")
        archive.writestr("conversation.md", f"{text} " * 20)
    return file.getvalue()


def named_in_archive(text: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{text}.md", "nothing")
    return file.getvalue()


SPELLINGS: dict[str, Callable[[str], str | bytes]] = {
    "as it is": lambda marker: f"before {marker} after",
    "bytes": lambda marker: f"before {marker} after".encode(),
    "capitals": str.upper,
    "as JSON": lambda marker: json.dumps({"text": f"<{marker}>"}),
    "as HTML": lambda marker: "".join(f"&#{ord(letter)};" for letter in marker),
    "between tags": lambda marker: f"<p>{marker[:4]}<mark>{marker[4:9]}</mark>{marker[9:]}</p>",
    "escaped between tags": lambda marker: f"{marker[:4]}{html.escape('<b>')}{marker[4:]}",
    "in an address": lambda marker: quote(f"?q={marker}&x=<>"),
    "with spaces": lambda marker: " ".join(marker),
    "with marks between": lambda marker: "\u200b".join(marker),
    "in base 64": lambda marker: base64.b64encode(f"{marker} and more".encode()),
    "in base 64, one further": lambda marker: base64.b64encode(f"x{marker} and more".encode()),
    "in base 64, two further": lambda marker: base64.b64encode(f"xy{marker} and more".encode()),
    "as hexadecimal": lambda marker: marker.encode().hex(),
    "compressed": lambda marker: gzip.compress(f"{marker} ".encode() * 20),
    "in an archive": zipped,
    "name in an archive": named_in_archive,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_marker_is_found_in_every_usual_spelling(spelling: str) -> None:
    for _ in range(20):
        canary = Canary()
        marker = canary.plant("a hidden place")
        assert canary.found(SPELLINGS[spelling](marker)), marker


@pytest.mark.parametrize("spelling", ["as it is", "as HTML", "between tags", "with spaces", "in an archive", "compressed"])
def test_it_is_told_which_marker_it_was(spelling: str) -> None:
    canary = Canary()
    canary.plant("another place")
    marker = canary.plant("a hidden place")
    assert set(canary.found(SPELLINGS[spelling](marker))) == {"a hidden place"}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_is_no_marker_is_not_found(spelling: str) -> None:
    canary, other = Canary(), Canary()
    canary.plant("a hidden place")
    assert canary.found(SPELLINGS[spelling](other.plant("elsewhere"))) == []


@pytest.mark.parametrize("broken", [b"\x1f\x8bno gzip at all", b"PK\x03\x04no archive at all", b"\xff\xfe\x00", b""])
def test_what_cannot_be_unpacked_holds_nothing(broken: bytes) -> None:
    canary = Canary()
    canary.plant("a hidden place")
    assert canary.found(broken) == []


def test_random_text_is_no_marker() -> None:
    canary = Canary()
    canary.plant("a hidden place")
    assert canary.found(*(secrets.token_urlsafe(3000) + secrets.token_hex(3000) for _ in range(50))) == []
