"""Detects the media type of a file from its bytes, because its name proves nothing."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

MAX_PIXELS = 50_000_000
MAX_SIDE = 20_000
"""Limits for pictures that are shown: a few bytes can decompress to gigabytes in a reader's browser."""
_TEXT = "text/plain"
_ANYTHING = "application/octet-stream"
_MAGIC = ((b"%PDF-", "application/pdf"), (b"PK\x03\x04", "application/zip"))
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG segments that contain the picture's size."""
_MAX_SEGMENTS = 200


@dataclass(frozen=True, slots=True)
class Kind:
    """A detected media type.

    ``width`` and ``height`` in pixels, for a picture that a browser may show in place; None for everything else.
    """

    media_type: str
    width: int | None = None
    height: int | None = None


def kind_of(data: bytes) -> Kind:
    """Recognizes pictures in four formats without scripts, and a few other types.

    SVG and HTML count as text: shown in place, they could run scripts.
    """
    for media_type, measured in _PICTURE_TYPES:
        try:
            size = measured(data)
        except (struct.error, IndexError):
            size = None
        if size is not None:
            return Kind(media_type, *size) if _is_shown(*size) else Kind(media_type)
    known = next((media_type for magic, media_type in _MAGIC if data.startswith(magic)), "")
    return Kind(known or (_TEXT if _is_text(data) else _ANYTHING))


def _is_shown(width: int, height: int) -> bool:
    return 0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _png(data: bytes) -> tuple[int, int] | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif(data: bytes) -> tuple[int, int] | None:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int] | None:
    if data[:3] != b"\xff\xd8\xff":
        return None
    at = 2
    for _ in range(_MAX_SEGMENTS):
        if data[at] != 0xFF:
            return None
        if data[at + 1] in _FRAME_MARKERS:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        (length,) = struct.unpack_from(">H", data, at + 2)
        at += 2 + length
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    match data[12:16]:
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L" if data[20] == 0x2F:
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
        case b"VP8X" if len(data) >= 30:
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    return None


_PICTURE_TYPES: tuple[tuple[str, Callable[[bytes], tuple[int, int] | None]], ...] = (
    ("image/png", _png),
    ("image/gif", _gif),
    ("image/jpeg", _jpeg),
    ("image/webp", _webp),
)
