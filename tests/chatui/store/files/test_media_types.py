"""Media types from file contents: only pictures that cannot run anything and have a safe size are displayed."""

from __future__ import annotations

import struct

import pytest

from chatui.store.file_names import Kind, kind_of
from tests.chatui.store.files.pictures import claiming, png
from tests.support.cases import for_each

GIF = b"GIF89a" + struct.pack("<HH", 7, 5) + b"\0" * 20
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 5, 7) + b"\0" * 20
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 7, 5) + b"\0" * 8
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 6 | 4 << 14) + b"\0" * 8
EXTENDED = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x06\0\0\x04\0\0"
PICTURES = {"png": png(7, 5), "gif": GIF, "jpeg": JPEG, "webp": LOSSY, "webp lossless": LOSSLESS, "webp extended": EXTENDED}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_in_a_passive_format_is_shown(name: str) -> None:
    assert kind_of(PICTURES[name]) == Kind(f"image/{name.split()[0]}", 7, 5)


@pytest.mark.parametrize(
    "data",
    [
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"<!doctype html><script>alert(1)</script>",
        b'<?xml version="1.0"?><svg/>',
        b"GIF89a<script>"[3:],
        b" \x89PNG\r\n\x1a\n",
        b"%PDF-1.7 x",
        b"BM\0\0\0\0",
        b"",
    ],
)
def test_active_content_and_non_pictures_are_not_shown(data: bytes) -> None:
    assert kind_of(data).width is None and not kind_of(data).media_type.startswith("image/")


@pytest.mark.parametrize("size", [(30_000, 1), (1, 30_000), (10_000, 10_000), (0, 4), (2**32 - 1, 2**32 - 1)])
def test_a_picture_that_claims_to_be_huge_or_empty_is_not_shown(size: tuple[int, int]) -> None:
    assert kind_of(claiming(*size)) == Kind("image/png")
    assert kind_of(claiming(7, 5)).width == 7, "the premise"


@for_each([(name, end) for name, data in PICTURES.items() for end in range(len(data))])
def test_a_truncated_picture_is_no_error(name: str, end: int) -> None:
    assert isinstance(kind_of(PICTURES[name][:end]), Kind)


def test_other_files_have_a_plain_type_name() -> None:
    kinds = [kind_of(data).media_type for data in (b"a,b\n1,2\n", b"a\0b", b"\xff\xfe", b"%PDF-1.7\n", b"PK\x03\x04")]
    assert kinds == ["text/plain", "application/octet-stream", "application/octet-stream", "application/pdf", "application/zip"]
