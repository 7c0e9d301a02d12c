"""Streams a ZIP archive while creating it, with only one of its files in memory at a time."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Iterable, Iterator

from channels.db import database_sync_to_async


def zipped(files: Iterable[tuple[str, str | bytes]]) -> Iterator[bytes]:
    """The archive in pieces. Each file is a name and its content."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in files:
            archive.writestr(name, content)
            yield sink.taken()
    yield sink.taken()


async def in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same pieces for an ASGI server: each is made in the thread that may use the database.

    The database connection is returned after each piece: a client may read slowly, and others need the connection meanwhile.
    """
    following = database_sync_to_async(lambda: next(pieces, None))
    while (piece := await following()) is not None:
        yield piece


class _Sink(io.RawIOBase):
    """The file that the archive is written to. It cannot seek, so the archive is written strictly forwards."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._pieces.append(piece)
        return len(piece)

    def taken(self) -> bytes:
        """Return and clear the bytes written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
