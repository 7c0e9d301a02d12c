"""Downloads: a conversation's open branch in several formats, or all of a person's conversations in one archive.

The ZIP archive is streamed while it is created, with only one of its files, or a piece of it, in memory at a time.
"""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from channels.db import database_sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone

from chatui.limits import Throttle
from chatui.permissions import access
from chatui.transfer import exports
from chatui.transfer.exports import Content, DownloadFormat, attachment
from chatui.web.guards import hidden_channels, person_of, signed_in, visitor_of
from renderer.gate import Audience

if TYPE_CHECKING:
    from chatui.models.conversation import Conversation


_PIECE_BYTES = 64 * 1024


def zipped(files: Iterable[tuple[str, Content]]) -> Iterator[bytes]:
    """The archive in pieces. Each file is a name and its content."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name, time.localtime()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as file:
                for piece in (content,) if isinstance(content, str | bytes) else content:
                    file.write(piece.encode() if isinstance(piece, str) else piece)
                    if sink.bytes > _PIECE_BYTES:
                        yield sink.taken()
            yield sink.taken()
    yield sink.taken()


async def in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same pieces for an ASGI server: each is made in the thread that may use the database.

    The database connection is returned after each piece: a client may read slowly, and others need the connection meanwhile.
    """
    following = database_sync_to_async(lambda: next(pieces, None))
    while (piece := await following()) is not None:
        yield piece


def streamed(request: HttpRequest, pieces: Iterator[bytes], content_type: str | None = None, name: str = "") -> StreamingHttpResponse:
    """A response that is sent while it is made; with a ``name``, a file. ``{day}`` in the name is today."""
    response = StreamingHttpResponse(in_threads(pieces) if isinstance(request, ASGIRequest) else pieces, content_type=content_type)
    if name:
        response.headers["Content-Disposition"] = f'attachment; filename="{name.format(day=timezone.now().date())}"'
    return response


class _Sink(io.RawIOBase):
    """The file that the archive is written to. It cannot seek, so the archive is written strictly forwards."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._pieces.append(piece)
        self.bytes += len(piece)
        return len(piece)

    def taken(self) -> bytes:
        """Return and clear the bytes written since the last call."""
        pieces, self._pieces, self.bytes = self._pieces, [], 0
        return b"".join(pieces)


# Each reads everything that a person has.
_archives = Throttle("archive", attempts=6, seconds=600)


@signed_in("GET")
def download(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The owner's transcript, with what they may see."""
    person = person_of(request)
    row = access.own_permanent(person, conversation_id)
    file_format = _format_of(request)
    return _attachment(row, exports.transcript(row, person, Audience.END_USER, file_format), file_format)


@hidden_channels("GET", "whole download")
def download_whole(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """The whole transcript, hidden channels included. Like the debug view it needs the permission and opt-in, and is recorded."""
    row = access.view_hidden(visitor_of(request, "download"), conversation_id, action="whole download")
    file_format = _format_of(request)
    return _attachment(row, exports.transcript(row, person_of(request), Audience.DEBUG, file_format), file_format, "-whole")


@signed_in("GET")
def download_everything(request: HttpRequest) -> HttpResponseBase:
    """All of a person's own conversations, with what they may see, in one archive that is streamed while it is made."""
    person = person_of(request)
    _archives.check(str(person.pk))
    return streamed(request, zipped(exports.all_files(person)), "application/zip", "conversations-{day}.zip")


def download_chosen(request: HttpRequest, keys: Sequence[UUID]) -> HttpResponseBase:
    """A download of some of a person's own conversations, as in the archive of all. Without a decorator: the page with the boxes calls
    it."""
    person = person_of(request)
    _archives.check(str(person.pk))
    return streamed(request, zipped(exports.conversations(person, keys)), "application/zip", "conversations-{day}.zip")


def _format_of(request: HttpRequest) -> DownloadFormat:
    # Old links use ``form``.
    asked = request.GET.get("format", request.GET.get("form", DownloadFormat.OPENCHATML))
    try:
        return DownloadFormat(asked)
    except ValueError:
        raise access.NotFoundError from None


def _attachment(row: Conversation, text: str, file_format: DownloadFormat, suffix: str = "") -> HttpResponse:
    # Served as a download: a transcript may contain anything.
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = attachment(row.title, f"{suffix}.{file_format.extension}")
    return response
