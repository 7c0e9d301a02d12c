"""Reads a small PNG that somebody sent, and writes it anew from its pixels alone, so that nothing else of the file is kept or served.

Follows the PNG specification, third edition (W3C, 2025). What it allows and a small picture does not need is refused: 16 bits, pixels of
less than a byte, interlacing, movement.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

MAX_SIDE = 128
"""Pixels."""
MAX_BYTES = 24 * 1024
"""The most bytes of the file that was sent, and of the one that is written."""


class PictureFault(StrEnum):
    """Why a picture is refused. ``KIND``: it may be a picture, but not a PNG as they are read here."""

    LARGE = "large"
    KIND = "kind"
    BROKEN = "broken"


class PictureError(ValueError):
    """The bytes are no picture that is read here. Nothing of them is quoted."""

    def __init__(self, fault: PictureFault) -> None:
        super().__init__(fault)
        self.fault = fault


def only_pixels(data: bytes) -> bytes:
    """The PNG with the same pixels and nothing else: no text, profile, time or place, and nothing between its parts or behind its end.

    The result of a result is the same bytes. Takes a few milliseconds, and never more than 100 KB of memory besides ``data``.

    Raises PictureError.
    """
    if len(data) > MAX_BYTES:
        raise PictureError(PictureFault.LARGE)
    if not data.startswith(_SIGNATURE):
        raise PictureError(PictureFault.KIND)
    parts = _parts(data)
    header = _header(parts.header)
    rows = _inflated(parts.pixels, header.height, 1 + header.width * header.channels)
    palette, transparency = _colours(header, parts, rows)
    chunks = ((b"IHDR", parts.header), (b"PLTE", palette), (b"tRNS", transparency), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", None))
    written = _SIGNATURE + b"".join(_chunk(kind, body or b"") for kind, body in chunks if body != b"")
    if len(written) > MAX_BYTES:
        raise PictureError(PictureFault.LARGE)
    return written


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MARKS = {b"IHDR": "H", b"PLTE": "P", b"tRNS": "T", b"IDAT": "D", b"IEND": "E"}
_MOVES = {b"acTL", b"fcTL", b"fdAT"}
_ORDER = re.compile(r"H\.*(P\.*)?(T\.*)?D+\.*E")
"""The chunks of a picture: each once but the pixels, which stand together. A dot: one that may be left out, wherever it stands."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The bodies of the chunks that are read."""

    header: bytes
    palette: bytes
    transparency: bytes
    pixels: bytes


def _parts(data: bytes) -> _Parts:
    chunks = list(_chunks(data))
    if any(kind in _MOVES for kind, _ in chunks):
        raise PictureError(PictureFault.KIND)
    if not _ORDER.fullmatch("".join(_mark(kind) for kind, _ in chunks)) or chunks[-1][1]:
        raise PictureError(PictureFault.BROKEN)
    bodies: dict[bytes, list[bytes]] = {}
    for kind, body in chunks:
        bodies.setdefault(kind, []).append(body)
    return _Parts(*(b"".join(bodies.get(kind, ())) for kind in (b"IHDR", b"PLTE", b"tRNS", b"IDAT")))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The kinds and bodies, up to the end of the data."""
    at = len(_SIGNATURE)
    while at < len(data):
        if at + 12 > len(data):
            raise PictureError(PictureFault.BROKEN)
        (length,) = struct.unpack_from(">I", data, at)
        end = at + 8 + length
        # Compared before anything is sliced: a length up to 4 GB is only a number so far.
        if end + 4 > len(data) or zlib.crc32(data[at + 4 : end]) != struct.unpack_from(">I", data, end)[0]:
            raise PictureError(PictureFault.BROKEN)
        yield data[at + 4 : at + 8], data[at + 8 : end]
        at = end + 4


def _mark(kind: bytes) -> str:
    """An exclamation mark, which stands nowhere, for a chunk that a reader has to understand, or that has no name."""
    is_ancillary = kind.isalpha() and kind[:1].islower()
    return _MARKS.get(kind, "." if is_ancillary else "!")


@dataclass(frozen=True, slots=True)
class _Header:
    width: int
    height: int
    colour: int
    """The colour type of the specification."""
    channels: int
    """Bytes of a pixel."""


_GREY, _RGB, _PALETTE = 0, 2, 3
_CHANNELS = {_GREY: 1, _RGB: 3, _PALETTE: 1, 4: 2, 6: 4}
_HEADER_BYTES = 13
_BITS = 8


def _header(body: bytes) -> _Header:
    if len(body) != _HEADER_BYTES:
        raise PictureError(PictureFault.BROKEN)
    width, height, bits, colour, compression, filtering, interlace = struct.unpack(">IIBBBBB", body)
    if not width or not height or colour not in _CHANNELS or compression or filtering:
        raise PictureError(PictureFault.BROKEN)
    if width > MAX_SIDE or height > MAX_SIDE:
        raise PictureError(PictureFault.LARGE)
    if bits != _BITS or interlace:
        raise PictureError(PictureFault.KIND)
    return _Header(width, height, colour, _CHANNELS[colour])


_MAX_FILTER = 4


def _inflated(pixels: bytes, height: int, stride: int) -> bytes:
    """The rows, each with its filter before it. Never inflates more than the header promises, and takes neither less nor more."""
    inflater = zlib.decompressobj()
    try:
        rows = inflater.decompress(pixels, height * stride + 1)
    except zlib.error:
        raise PictureError(PictureFault.BROKEN) from None
    is_whole = len(rows) == height * stride and inflater.eof and not inflater.unused_data
    if not is_whole or max(rows[::stride]) > _MAX_FILTER:
        raise PictureError(PictureFault.BROKEN)
    return rows


_COLOUR_BYTES = 3
_MAX_PALETTE = 256 * _COLOUR_BYTES
_KEY = {_GREY: re.compile(rb"\0.", re.DOTALL), _RGB: re.compile(rb"(?:\0.){3}", re.DOTALL)}
"""The colour that is transparent, each channel in two bytes, of which 8 bits use the second."""


def _colours(header: _Header, parts: _Parts, rows: bytes) -> tuple[bytes, bytes]:
    """The palette and the transparency to keep, without what no pixel uses."""
    palette, transparency = parts.palette, parts.transparency
    if header.colour != _PALETTE:
        key = _KEY.get(header.colour)
        if transparency and not (key and key.fullmatch(transparency)):
            raise PictureError(PictureFault.BROKEN)
        return b"", transparency  # a palette beside true colours is a proposal for old screens
    used = 1 + max(map(max, _indexes(rows, header.width)))
    size = len(palette) // _COLOUR_BYTES
    if len(palette) % _COLOUR_BYTES or len(palette) > _MAX_PALETTE or used > size or len(transparency) > size:
        raise PictureError(PictureFault.BROKEN)
    return palette[: used * _COLOUR_BYTES], transparency[:used]


def _indexes(rows: bytes, width: int) -> Iterator[bytes]:
    """The lines of a picture of one byte a pixel, without their filters (section 9 of the specification)."""
    above = bytes(width)
    for start in range(0, len(rows), width + 1):
        kind, line = rows[start], bytearray(rows[start + 1 : start + 1 + width])
        left = upper_left = 0
        for at, upper in enumerate(above):
            line[at] = left = line[at] + _predicted(kind, left, upper, upper_left) & 0xFF
            upper_left = upper
        above = bytes(line)
        yield above


def _predicted(kind: int, left: int, upper: int, upper_left: int) -> int:
    if kind < _MAX_FILTER:
        return (0, left, upper, (left + upper) // 2)[kind]
    estimate = left + upper - upper_left
    return min((left, upper, upper_left), key=lambda each: abs(estimate - each))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
