"""Small pictures for tests, with any claimed size."""

import struct
import zlib


def png(width: int = 1, height: int = 1, colour: bytes = b"\x90\x77\x53") -> bytes:
    """A complete PNG of one RGB colour."""
    rows = (b"\0" + colour * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def claiming(width: int, height: int) -> bytes:
    """The beginning of a PNG that claims to be this large."""
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
