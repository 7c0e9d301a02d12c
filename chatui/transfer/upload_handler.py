"""Keeps uploaded files in memory, up to the size limit of an import, and never writes them to disk."""

from __future__ import annotations

from io import BytesIO

from django.core.files.uploadedfile import InMemoryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler

from chatui.transfer.upload import MAX_BYTES, MAX_EXPORT_BYTES


class BoundedUploadHandler(FileUploadHandler):
    """Keeps one byte more than is allowed, for all files of a request together, and drops the rest. By the extra byte, the reader of the
    file sees that it is too large. Django parses uploads before any view runs, even those of anonymous visitors, who cannot import
    anything: for them the limit is lower.
    """

    _room: int | None = None

    def new_file(self, *args: object, **kwargs: object) -> None:
        """Begin the next file of the request."""
        super().new_file(*args, **kwargs)  # type: ignore[arg-type]
        if self._room is None:
            user = getattr(self.request, "user", None)
            self._room = 1 + (MAX_EXPORT_BYTES if user is not None and user.is_authenticated else MAX_BYTES)
        self._file = BytesIO()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Keep as much as fits."""
        room = self._room or 0
        self._file.write(raw_data[:room])
        self._room = room - min(len(raw_data), room)

    def file_complete(self, file_size: int) -> InMemoryUploadedFile:
        """The file, truncated if it is too large."""
        size = self._file.tell()
        self._file.seek(0)
        return InMemoryUploadedFile(
            file=self._file,
            field_name=self.field_name,
            name=self.file_name or "",
            content_type=self.content_type or "",
            size=size,
            charset=self.charset,
            content_type_extra=self.content_type_extra,
        )
