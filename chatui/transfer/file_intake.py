"""Accepts an uploaded file: checks it, stores it, reads it in a separate process, and counts its tokens. A file without text is not
stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from asgiref.sync import async_to_sync

from chatui.database.connections import release_request_connection
from chatui.documents import kinds, reading
from chatui.documents.reading import Reading, State
from chatui.env import environment
from chatui.models import DocumentText, StoredFile
from chatui.store.documents import counting, pending_uploads, texts
from chatui.store.documents.texts import ExtractedText
from chatui.store.files import names, storage
from chatui.store.files.storage import FileDestination as FileDestination  # callers create it
from chatui.store.files.storage import FileRefusedError, NewFile
from chatui.store.short_transactions import short_transaction
from chatui.transfer import scanning
from chatui.transfer.scanning import Verdict
from chatui.transfer.upload_queue import QueueFullError, UploadQueue

_queue = UploadQueue()

T = TypeVar("T")


class UploadRefusedError(Exception):
    """The file was not accepted.

    ``why``: a value of ``documents.kinds.Reason``, or one of those in ``display.files.upload_status``. ``found``: the extracted text, if
    the file was read.
    """

    def __init__(self, why: str, found: Reading | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.found = found


def accept(place: FileDestination, name: str, load: Callable[[], bytes]) -> StoredFile:
    """Store an uploaded file with its extracted text until it is sent. Blocks while the file is read, which takes seconds for a long one,
    and before that while the person's earlier uploads are read. ``load`` returns the bytes, and is called when the file's turn comes. If
    too many files wait to be sent, the oldest are deleted.

    Raises:
        UploadRefusedError: the file is refused, or has no text. Nothing is stored.
    """
    release_request_connection()
    try:
        with _queue.place(place.owner_id) as lock, lock, _queue.memory_slots:
            return _stored(place, name, load())
    except QueueFullError:
        raise UploadRefusedError("busy") from None


def _stored(place: FileDestination, name: str, data: bytes) -> StoredFile:
    detected = kinds.detect(names.clean(name), data)
    if detected.reason:
        raise UploadRefusedError(detected.reason)
    _scan(data)
    new = NewFile.of(name, data, "" if detected.kind == "text" else detected.kind)
    file = _with_room(place.owner_id, lambda: storage.save(place, new))
    pending_uploads.trim(place.owner_id)
    try:
        _read(file, data)
    except BaseException:
        remove(file)
        raise
    return file


def _with_room(person_id: UUID, step: Callable[[], T]) -> T:
    """Run a step in a transaction.

    If the person's storage is full, their old uploads that were never sent are deleted, and the step is tried once more.
    """
    for is_last in (False, True):
        try:
            with short_transaction():
                return step()
        except FileRefusedError as error:
            if is_last or not pending_uploads.forget(person_id):
                raise UploadRefusedError(error.why) from None
    raise AssertionError


def remove(file: StoredFile) -> None:
    """Delete a file that waits to be sent. A file that was sent meanwhile is not deleted."""
    storage.delete_files(file.owner_id, pending_uploads.of_person(file.owner_id).filter(pk=file.pk))


def _scan(data: bytes) -> None:
    verdict = scanning.scan(environment().file_scanner, data)
    if verdict is not Verdict.CLEAN:
        raise UploadRefusedError(verdict)


def _read(file: StoredFile, data: bytes) -> None:
    """Extract the text of a file, unless the same content was read before."""
    known = DocumentText.objects.filter(content=file.content_id).first()
    if known is not None and known.state == State.READ:
        return
    release_request_connection()
    found = async_to_sync(reading.read)(file.name, data)
    if found.state is not State.READ:
        raise UploadRefusedError(found.reason, found)
    tokens, is_counted = counting.tokens_of([part.text for part in found.parts])
    read = ExtractedText(found, tokens, is_counted)

    def keep() -> DocumentText:
        storage.lock_owner(file.owner_id)
        if not StoredFile.objects.filter(pk=file.pk).exists():
            raise UploadRefusedError("gone")
        storage.check_room(file.owner_id, read.bytes)
        return texts.save(file.content, read)

    _with_room(file.owner_id, keep)
