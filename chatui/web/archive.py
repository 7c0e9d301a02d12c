"""A ZIP archive that is made while it is sent: of however many files, only one is in memory at a time."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Iterable, Iterator

from channels.db import database_sync_to_async


def zipped(files: Iterable[tuple[str, str]]) -> Iterator[bytes]:
    """The archive of files, each a name and a text, in pieces."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, text in files:
            archive.writestr(name, text)
            yield sink.taken()
    yield sink.taken()


async def in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same for a server with an event loop: each piece is made in the thread that may talk to the database.

    The connection to it is given back after each: a reader takes as long as it likes, and the others need it meanwhile.
    """
    following = database_sync_to_async(lambda: next(pieces, None))
    while (piece := await following()) is not None:
        yield piece


class _Sink(io.RawIOBase):
    """What the archive is written to; it cannot go back, so the archive is written straight on."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._pieces.append(piece)
        return len(piece)

    def taken(self) -> bytes:
        """What was written since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
