"""Small pictures for tests, with any claimed size."""

import struct
import zlib


def png(width: int = 1, height: int = 1, colour: bytes = b"\x90\x77\x53") -> bytes:
    """A complete PNG of one RGB colour."""
    rows = (b"\0" + colour * width) * height
    return joined(head(width, height), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))


def claiming(width: int, height: int) -> bytes:
    """The beginning of a PNG that claims to be this large."""
    return joined(head(width, height))


def head(width: int, height: int, *, bits: int = 8, colour: int = 2, interlace: int = 0) -> tuple[bytes, bytes]:
    """The chunk of a PNG's size, and of how its pixels are written."""
    return b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace)


def joined(*chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG of these chunks, each with its checksum."""
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
