"""Implements the file interface of tools for one turn: stores files for the person, and reads them back for a new sandbox."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from uuid import UUID

from chatui.database import pools
from chatui.database.faults import DatabaseBusyError, is_transient
from chatui.database.writer import writer
from chatui.models import StoredFile
from chatui.models.files.stored_file import FileSource
from chatui.store.documents import attached
from chatui.store.files import reading, storage
from chatui.store.files.encryption import NoKeyError
from chatui.store.files.storage import FileDestination, FileRefusedError, NewFile
from chatui.tools.files import GivenFile, KeptFile, MadeFile, NotKeptError
from chatui.turns import ledger
from chatui.turns.ledger import Job, LeaseLostError

log = logging.getLogger(__name__)

PATIENCE = 20.0
"""How long a file waits for a database that is locked or away, in seconds, before it is given up."""


class FilesOfTurn:
    """A ``TurnFiles``. Made on the event loop of the turn; tools use it on theirs."""

    def __init__(self, job: Job, told: Callable[[int], None]) -> None:
        """``told``: a callback, called on the turn's event loop with the number of files, whenever one has come."""
        self._job = job
        self._told = told
        self._loop = asyncio.get_running_loop()
        self._names: set[str] = set()

    async def keep(self, made: MadeFile) -> KeptFile:
        """See ``TurnFiles``. The file is stored before the model learns its name."""
        # A name, like a file, can be long: all other writes of this process wait while one looks at it.
        new = await asyncio.to_thread(NewFile.of, made.name, made.data)
        try:
            kept = await writer.run(_keep, self._job, new, order=self._job.turn_id, patience=PATIENCE)
        except FileRefusedError as error:
            raise NotKeptError(str(error)) from None
        except (DatabaseBusyError, LeaseLostError):
            log.warning("turn %s: a file could not be kept", self._job.turn_id)
            raise NotKeptError("it could not be stored") from None
        self._names.add(kept.name)
        self._loop.call_soon_threadsafe(self._told, len(self._names))
        return kept

    async def of_conversation(self, most_bytes: int, known: Collection[UUID] | None = None) -> Sequence[GivenFile]:
        """See ``TurnFiles``."""
        try:
            return await pools.turns.run(_given, self._job, most_bytes, known)
        except Exception as error:
            if not isinstance(error, DatabaseBusyError | NoKeyError) and not is_transient(error):
                raise
            log.warning("turn %s: the files of its conversation could not be read", self._job.turn_id)
            return ()

    async def gone(self, known: Collection[UUID]) -> Collection[UUID]:
        """See ``TurnFiles``. None where it cannot be read now."""
        try:
            return await pools.turns.run(_gone, self._job, known)
        except Exception as error:
            if not isinstance(error, DatabaseBusyError) and not is_transient(error):
                raise
            log.warning("turn %s: the files of its conversation could not be read", self._job.turn_id)
            return ()


def _keep(job: Job, new: NewFile) -> KeptFile:
    # A turn that has ended brings nothing any more: its conversation may be on its way out.
    if not ledger.is_ours(job):
        raise LeaseLostError
    file = storage.save(FileDestination(job.asked_by_id, job.conversation_id, job.turn_id), new)
    return KeptFile(file.name, file.content.size, file.content.sha256)


def _given(job: Job, most_bytes: int, known: Collection[UUID] | None) -> list[GivenFile]:
    wanted: list[StoredFile] = []
    for file in reading.of_conversation(job.conversation_id, attached.elsewhere(job.conversation_id, job.question_id)):
        if known is not None and (file.pk in known or file.source != FileSource.PERSON):
            continue
        if (most_bytes := most_bytes - _room_of(file)) < 0:
            break
        wanted.append(file)
    return [GivenFile(file.pk, file.name, data) for file, data in reading.with_data(wanted)]


def _gone(job: Job, known: Collection[UUID]) -> Collection[UUID]:
    here = StoredFile.objects.filter(conversation=job.conversation_id, pk__in=known).values_list("pk", flat=True)
    return set(known).difference(here) | attached.elsewhere(job.conversation_id, job.question_id).intersection(known)


def _room_of(file: StoredFile) -> int:
    """What it takes in a file system in memory."""
    return file.content.size + 4096
