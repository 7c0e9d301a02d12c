"""Files going in and out: downloads one or all of a conversation's, takes uploads in, and shows and deletes them for their person.

Before a file is stored, the operator's virus scanner runs on it. Files that a person has sent before can be sent again without a new
upload. Each person's files are read one after another, so that one person's uploads do not delay other people's.

An uploaded file is checked, stored, read in a separate process, and its tokens are counted. A file without text is not stored. A person can
have its extracted text or a passage of it shown.
"""

from __future__ import annotations

import logging
import shlex
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from asgiref.sync import async_to_sync
from django.utils.translation import get_language

from chatui.audit_log.record import Visitor
from chatui.database.connections import release_request_connection, short_transaction
from chatui.documents import kinds, reading
from chatui.documents.plain_text import ENCODINGS
from chatui.documents.reading import FileReading, ReadingState
from chatui.env import environment
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentText, FileSource, StoredFile
from chatui.models.user import User
from chatui.permissions import files
from chatui.permissions.access import NotFoundError, existing
from chatui.store import document_frames, documents, file_names, passages, uploads
from chatui.store import files as store_files
from chatui.store.documents import AnsweringError as AnsweringError
from chatui.store.files import FileDestination as FileDestination
from chatui.store.files import FileRefusedError, NewFile
from chatui.store.titles import own_words
from chatui.tools.python import tool
from renderer import characters
from renderer.gate import VisibleText

log = logging.getLogger(__name__)

DOWNLOAD_ACTION = "file download"
"""The action in the audit log when staff download somebody's file: one of ``debug_views.DOWNLOADS``."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download."""

    name: str = field(repr=False)
    size: int
    picture_type: str
    """The media type of a picture that may be shown inline; empty for everything else, whatever its name is."""
    pieces: Iterator[bytes] = field(repr=False)
    """The content, ``size`` bytes in total."""


def own(user: User | None, file_id: UUID) -> Download:
    """The person's own file, or a document of a collection. Raises as ``files.readable_file``."""
    return _download(files.readable_file(user, file_id))


def hidden(visitor: Visitor, conversation_id: UUID, file_id: UUID) -> Download:
    """A file for the debug view of staff. Raises as ``access.view_hidden``."""
    return _download(files.hidden_file(visitor, conversation_id, file_id, action=DOWNLOAD_ACTION))


def _download(file: StoredFile) -> Download:
    content = file.content
    return Download(file.name, content.size, content.media_type if content.width else "", store_files.pieces(file))


def for_archive(row: Conversation, folder: str) -> Iterator[tuple[str, bytes]]:
    """The path below ``folder`` and the bytes of each file of a conversation, one at a time; for each name, the newest file."""
    for file in store_files.of_conversation(row.pk):
        yield f"{folder}/{file.name}", store_files.data_of(file)


SECONDS = 60.0


def scan(command: str, data: bytes) -> str:
    """Pass a file to the command's standard input, and return why it is refused: ``infected`` (exit code 1), ``unchecked`` (any other, or a
    timeout); empty if it is clean (exit code 0), or there is no command."""
    if not command:
        return ""
    try:
        # The operator's own command line, without a shell; it contains nothing from the file.
        done = subprocess.run(shlex.split(command), input=data, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        log.warning("a file could not be checked by the scanner (%s)", type(error).__name__)
        return "unchecked"
    if done.returncode not in (0, 1):
        log.warning("a file could not be checked by the scanner (exit code %d)", done.returncode)
    return {0: "", 1: "infected"}.get(done.returncode, "unchecked")


MAX_RESULTS = 50
"""The most results of one search. Older files can be found by name."""
MAX_ROWS = 500
"""The most rows to read: a file may have been sent many times."""
_MAX_WORDS = 8


def search(person: User, words: str) -> tuple[list[StoredFile], bool]:
    """The files whose names contain all of these words, newest first, with their contents; and whether there are more.

    Each pair of name and content occurs once.
    """
    rows = files.own_documents(person).filter(content__document__state=ReadingState.READ)
    for word in characters.storable(words).split()[:_MAX_WORDS]:
        rows = rows.filter(name__icontains=word)
    newest: dict[tuple[int, str], StoredFile] = {}
    read = list(rows.select_related("content").order_by("-created_at", "pk")[:MAX_ROWS])
    for row in read:
        newest.setdefault((row.content_id, row.name), row)
    return list(newest.values())[:MAX_RESULTS], len(newest) > MAX_RESULTS or len(read) == MAX_ROWS


def attach_again(person: User, file_id: UUID, brought_in: UUID | None) -> StoredFile:
    """Attach a file that was sent before to a message box, with its content and extracted text, unless it already waits there. Raises
    NotFoundError if ``search`` would not return it."""
    with short_transaction():
        store_files.lock_owner(person.pk)
        sent = files.own_documents(person).filter(content__document__state=ReadingState.READ, pk=file_id)
        known = existing(sent.select_related("content").first())
        same = uploads.rows_at(person.pk, brought_in).filter(content=known.content, name=known.name, tool_server=known.tool_server).first()
        file = same or StoredFile.objects.create(
            owner=person,
            content=known.content,
            name=known.name,
            source=FileSource.PERSON,
            brought_in=brought_in,
            tool_server=known.tool_server,
        )
    uploads.trim(person.pk)
    return file


MAX_WAITING_PER_PERSON = 12
"""The most files of one person that wait in this process at once. A page sends up to ten."""
MAX_WAITING = 100
"""The most waiting files of all people together. Waiting files are on disk."""
MAX_IN_MEMORY = 3
"""The most files in memory at once. Each may take 20 MB, and several times as much while it is stored."""


class UploadQueue:
    """One queue of uploads for each person. ``memory_slots``: a semaphore, to be held while a file is in memory."""

    def __init__(self) -> None:
        self.memory_slots = threading.BoundedSemaphore(MAX_IN_MEMORY)
        self._mutex = threading.Lock()
        self._waiting: dict[UUID, tuple[threading.Lock, int]] = {}

    @contextmanager
    def place(self, person_id: UUID) -> Iterator[threading.Lock]:
        """A place in the queue for one file. The file is read while the returned lock is held. Raises UploadRefusedError if too many files
        are in it, of this person or of all people together."""
        with self._mutex:
            lock, count = self._waiting.get(person_id, (threading.Lock(), 0))
            if count >= MAX_WAITING_PER_PERSON or sum(each for _, each in self._waiting.values()) >= MAX_WAITING:
                raise UploadRefusedError("busy")
            self._waiting[person_id] = (lock, count + 1)
        try:
            yield lock
        finally:
            with self._mutex:
                _, count = self._waiting.pop(person_id)
                if count > 1:
                    self._waiting[person_id] = (lock, count - 1)


_queue = UploadQueue()

T = TypeVar("T")


class UploadRefusedError(Exception):
    """The file was not accepted."""

    def __init__(self, why: str, reading: FileReading | None = None) -> None:
        super().__init__(why)
        self.why = why
        """A value of ``documents.kinds.NoTextReason``, or one of those in ``display.files``."""
        self.reading = reading
        """The extracted text, if the file was read."""


def accept(place: FileDestination, name: str, load: Callable[[], bytes]) -> StoredFile:
    """Store an uploaded file with its extracted text until it is sent. Blocks while the file is read, which takes seconds for a long one,
    and before that while the person's earlier uploads are read. ``load`` returns the bytes, and is called when the file's turn comes. If
    too many files wait to be sent, the oldest are deleted. Raises UploadRefusedError, with nothing stored, if the file is refused, or has
    no text."""
    release_request_connection()
    with _queue.place(place.owner_id) as lock, lock, _queue.memory_slots:
        return _stored(place, name, load())


def _stored(place: FileDestination, name: str, data: bytes) -> StoredFile:
    """Check and scan a file, store it and read its text. A file that cannot be read is removed again."""
    detected = kinds.detect(file_names.clean(name), data)
    if detected.reason:
        raise UploadRefusedError(detected.reason)
    if why := scan(environment().file_scanner, data):
        raise UploadRefusedError(why)
    new = NewFile.of(name, data, "" if detected.kind == "text" else detected.kind)
    file = _with_room(place.owner_id, lambda: store_files.save(place, new))
    uploads.trim(place.owner_id)
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
            if is_last or not uploads.forget(person_id):
                raise UploadRefusedError(error.why) from None
    raise AssertionError


def remove(file: StoredFile) -> None:
    """Delete a file that waits to be sent. A file that was sent meanwhile is not deleted."""
    store_files.delete_files(file.owner_id, uploads.of_person(file.owner_id).filter(pk=file.pk))


def read_again(person: User, file_id: UUID, encoding: str) -> StoredFile:
    """Read a text file that waits to be sent in another encoding. Raises NotFoundError if there is no such file or encoding, if the file
    is no text, or if it was sent before; UploadRefusedError as ``accept``, if there is no text in that encoding."""
    file = existing(uploads.of_person(person.pk).filter(pk=file_id).select_related("content__document").first())
    text = getattr(file.content, "document", None)
    if encoding not in ENCODINGS or text is None or not documents.encoding_of(text)[0] or documents.is_sent(file.content):
        raise NotFoundError
    release_request_connection()
    with _queue.place(person.pk) as lock, lock, _queue.memory_slots:
        _read(file, store_files.data_of(file), encoding)
    return file


def _read(file: StoredFile, data: bytes, encoding: str = "") -> None:
    """Extract the text of a file, unless the same content was read before. ``encoding``: read it again, in this one."""
    known = DocumentText.objects.filter(content=file.content_id).first()
    if known is not None and known.state == ReadingState.READ and not encoding:
        return
    release_request_connection()
    found = async_to_sync(reading.read)(file.name, data, language=get_language() or "", encoding=encoding)
    if found.state is not ReadingState.READ:
        raise UploadRefusedError(found.reason, found)
    tokens, is_counted = uploads.tokens_of([part.text for part in found.parts])

    def keep() -> DocumentText:
        store_files.lock_owner(file.owner_id)
        if not StoredFile.objects.filter(pk=file.pk).exists():
            raise UploadRefusedError("gone")
        store_files.check_room(file.owner_id, documents.stored_bytes(found))
        return documents.save(file.content, found, tokens, is_counted=is_counted, is_again=bool(encoding))

    _with_room(file.owner_id, keep)


def text_of(user: User | None, file_id: UUID) -> VisibleText:
    """The extracted text of a file that the person may open, with a label above each part. Raises NotFoundError as
    ``files.readable_file``, and if there is no text."""
    parts = documents.parts_of(files.readable_file(user, file_id))
    if not parts:
        raise NotFoundError
    return own_words("\n\n".join(document_frames.labelled(parts)))


@dataclass(frozen=True, slots=True)
class PassageInContext:
    """A passage of a document that the person may open, with the text before and after it. It is passage ``number`` of ``count``.
    ``is_replaced``: a newer version took the document's place in its collection."""

    name: str = field(repr=False)
    file_id: UUID
    label: str
    before: VisibleText = field(repr=False)
    text: VisibleText = field(repr=False)
    after: VisibleText = field(repr=False)
    number: int
    count: int
    is_replaced: bool = False


def passage_of(user: User | None, file_id: UUID, number: int) -> PassageInContext:
    """A passage of a file that the person may open. Raises NotFoundError as ``files.readable_file``, and if it has no such passage."""
    file = files.readable_file(user, file_id)
    found = existing(passages.surroundings(file.content_id, number))
    before, text, after = (own_words(each) for each in (found.before, found.text, found.after))
    is_replaced = file.replaced_at is not None
    return PassageInContext(file.name, file.pk, found.label, before, text, after, found.number, found.count, is_replaced)


def delete(person: User, file_id: UUID) -> None:
    """Delete a file that the person uploaded, also from later prompts and from the conversation's Python interpreter.

    Raises:
        NotFoundError: as ``files.own_file``, and if a tool made the file.
        AnsweringError: an answer is being written in its conversation.
    """
    file = files.own_file(person, file_id)
    if file.source != FileSource.PERSON:
        raise NotFoundError
    conversation_id = file.conversation_id
    documents.delete(file)
    if conversation_id is not None:
        tool.forget_files_from_thread(conversation_id, [file.name])
