"""Cleans the names of stored files, so that a name from a model or a person is harmless, and detects their media types.

The media type is detected from a file's bytes, because its name proves nothing.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from renderer.characters import one_line

_TONES = "\U0001f3fb-\U0001f3ff"
_FLAG_LETTERS = "\U0001f1e6-\U0001f1ff"
_JOINER = "\u200d"
_CONTINUES = re.compile(f"[{_JOINER}\ufe0e\ufe0f\u20e3{_TONES}\U000e0020-\U000e007f]")
_FLAG_LETTERS_AT_END = re.compile(f"[{_FLAG_LETTERS}]+\\Z")
_FLAG_LETTER = re.compile(f"[{_FLAG_LETTERS}]")


def shortened(name: str, end: int) -> str:
    """At most the first ``end`` characters, without the beginning of an emoji or letter that would be cut."""
    cut = min(end, len(name))
    while 0 < cut < len(name) and _is_inside(name, cut):
        cut -= 1
    return name[: cut or end]


def _is_inside(name: str, cut: int) -> bool:
    """Whether ``cut`` is between two characters that are shown as one."""
    after = name[cut]
    if name[cut - 1] == _JOINER or _CONTINUES.match(after) or unicodedata.combining(after):
        return True
    letters = _FLAG_LETTERS_AT_END.search(name[:cut])
    return letters is not None and len(letters[0]) % 2 == 1 and _FLAG_LETTER.match(after) is not None


MAX_CHARS = 80
_MAX_ENDING = 12
_SEPARATORS = re.compile(r"[\\/]+")
_RESERVED = re.compile(r'[<>:"|?*]+')
DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_DEFAULT_NAME = "file"


def clean(name: str) -> str:
    """The file name without directories, with at most ``MAX_CHARS`` characters; ``a/b.png`` becomes ``a_b.png``.

    Invisible characters are removed. So are names and characters with a special meaning in file systems, because people
    save the file, and sandboxes use its name.
    """
    flat = _RESERVED.sub("_", _SEPARATORS.sub("_", one_line(name))).strip(". ")
    short = _shortened(flat) or _DEFAULT_NAME
    return f"{_DEFAULT_NAME}_{short}" if DEVICES.match(short) else short


def _shortened(name: str) -> str:
    """Shorten the name before its extension, which identifies the file type."""
    if len(name) <= MAX_CHARS:
        return name
    stem, dot, ending = name.rpartition(".")
    ending = f"{dot}{ending}" if stem and len(ending) <= _MAX_ENDING else ""
    return shortened(name, MAX_CHARS - len(ending)).rstrip(". ") + ending


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
class MediaKind:
    """A detected media type.

    ``width`` and ``height`` in pixels, for a picture that a browser may show in place; None for everything else.
    """

    media_type: str
    width: int | None = None
    height: int | None = None


def kind_of(data: bytes) -> MediaKind:
    """Recognizes pictures in four formats without scripts, and a few other types.

    SVG and HTML count as text: shown in place, they could run scripts.
    """
    for media_type, measured in _PICTURE_TYPES:
        try:
            size = measured(data)
        except (struct.error, IndexError):
            size = None
        if size is not None:
            return MediaKind(media_type, *size) if _is_shown(*size) else MediaKind(media_type)
    known = next((media_type for magic, media_type in _MAGIC if data.startswith(magic)), "")
    return MediaKind(known or (_TEXT if _is_text(data) else _ANYTHING))


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
