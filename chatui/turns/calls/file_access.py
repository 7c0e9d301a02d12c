"""Implements the file and document search interfaces of tools for one turn.

Files are stored for the person, and read back for a new sandbox.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar
from uuid import UUID

from chatui.database import pools
from chatui.database.faults import DatabaseBusyError, is_transient
from chatui.database.writer import writer
from chatui.models.files import FileSource, StoredFile
from chatui.store import documents, files, passages
from chatui.store.files import FileDestination, FileRefusedError, NewFile, NoKeyError
from chatui.store.passages import SearchedBranch
from chatui.tools.file_access import ConversationFile, CreatedFile, Excerpt, FileNotStoredError, StoredFileInfo
from chatui.tools.tool import ToolError
from chatui.turns import ledger
from chatui.turns.ledger import Job, LeaseLostError

log = logging.getLogger(__name__)

PATIENCE = 20.0
"""How long, in seconds, a file waits for a locked or unreachable database before it is given up."""


class FilesOfTurn:
    """A ``TurnFiles``. Created on the turn's event loop, and used by tools on theirs."""

    def __init__(self, job: Job, on_count: Callable[[int], None]) -> None:
        """``on_count``: a callback that is called on the turn's event loop with the number of files after each new file."""
        self._job = job
        self._on_count = on_count
        self._loop = asyncio.get_running_loop()
        self._names: set[str] = set()

    async def store(self, made: CreatedFile) -> StoredFileInfo:
        """See ``TurnFiles``. The file is stored before the model learns its name."""
        # In a thread and not in the writer: names and files can be large, and checking them would block all other writes of this process.
        new = await asyncio.to_thread(NewFile.of, made.name, made.data)
        try:
            stored = await writer.run(_store, self._job, new, order=self._job.turn_id, patience=PATIENCE)
        except FileRefusedError as error:
            raise FileNotStoredError(str(error)) from None
        except (DatabaseBusyError, LeaseLostError):
            log.warning("turn %s: a file could not be kept", self._job.turn_id)
            raise FileNotStoredError("it could not be stored") from None
        self._names.add(stored.name)
        self._loop.call_soon_threadsafe(self._on_count, len(self._names))
        return stored

    async def of_conversation(self, max_bytes: int, known: Collection[UUID] | None = None) -> Sequence[ConversationFile]:
        """See ``TurnFiles``."""
        try:
            return await pools.turns.run(_given, self._job, max_bytes, known)
        except Exception as error:
            if not isinstance(error, DatabaseBusyError | NoKeyError) and not is_transient(error):
                raise
            log.warning("turn %s: the files of its conversation could not be read", self._job.turn_id)
            return ()

    async def deleted(self, known: Collection[UUID]) -> Collection[UUID]:
        """See ``TurnFiles``. Empty if the database cannot be read now."""
        try:
            return await pools.turns.run(_gone, self._job, known)
        except Exception as error:
            if not isinstance(error, DatabaseBusyError) and not is_transient(error):
                raise
            log.warning("turn %s: the files of its conversation could not be read", self._job.turn_id)
            return ()


def _store(job: Job, new: NewFile) -> StoredFileInfo:
    # A turn that has ended may not store files: its conversation may be about to be erased.
    if not ledger.is_ours(job):
        raise LeaseLostError
    file = files.save(FileDestination(job.asked_by_id, job.conversation_id, job.turn_id), new)
    return StoredFileInfo(file.name, file.content.size, file.content.sha256)


def _given(job: Job, max_bytes: int, known: Collection[UUID] | None) -> list[ConversationFile]:
    wanted: list[StoredFile] = []
    for file in files.of_conversation(job.conversation_id, documents.elsewhere(job.conversation_id, job.question_id)):
        if known is not None and (file.pk in known or file.source != FileSource.PERSON):
            continue
        if (max_bytes := max_bytes - _room_of(file)) < 0:
            break
        wanted.append(file)
    return [ConversationFile(file.pk, file.name, data) for file, data in files.with_data(wanted)]


def _gone(job: Job, known: Collection[UUID]) -> Collection[UUID]:
    here = StoredFile.objects.filter(conversation=job.conversation_id, pk__in=known).values_list("pk", flat=True)
    return set(known).difference(here) | documents.elsewhere(job.conversation_id, job.question_id).intersection(known)


def _room_of(file: StoredFile) -> int:
    """About how many bytes the file takes in an in-memory file system."""
    return file.content.size + 4096


T = TypeVar("T")


class DocumentsOfTurn:
    """A ``TurnDocuments`` that finds only documents of its own conversation, above its question."""

    def __init__(self, conversation_id: UUID, question_id: UUID) -> None:
        self._branch = SearchedBranch(conversation_id, question_id)

    async def find(self, query: str, document: str, most: int) -> Sequence[Excerpt]:
        """See ``TurnDocuments``."""
        found = await _read(lambda: passages.find(self._branch, query, document, most))
        return [Excerpt(each.name, each.label, each.text, each.url) for each in found]

    async def names(self) -> Sequence[str]:
        """See ``TurnDocuments``."""
        return await _read(lambda: passages.names_in(self._branch))


async def _read(reading: Callable[[], T]) -> T:
    try:
        return await pools.turns.run(reading)
    except Exception as error:
        if not isinstance(error, DatabaseBusyError) and not is_transient(error):
            raise
        log.warning("the documents of a conversation could not be searched")
        raise ToolError("The documents cannot be searched at the moment.") from None
