"""Implements the interfaces by which the tools of one turn access what is stored: files, the document search, sessions with tool servers.

Files are stored for the person, and read back for a new sandbox. What tools keep for a conversation ends with it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from typing import TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from chatui.database import pools
from chatui.database.faults import DatabaseBusyError
from chatui.database.writer import writer
from chatui.models.files import FileSource, StoredFile
from chatui.models.tools import ToolSession
from chatui.models.turn import Turn
from chatui.permissions import collections
from chatui.store import documents, files, passages
from chatui.store.file_encryption import NoKeyError
from chatui.store.files import FileDestination, FileRefusedError, NewFile
from chatui.store.passages import SearchedBranch
from chatui.tools import rules
from chatui.tools.file_access import (
    ConversationFile,
    CreatedFile,
    EndedSession,
    Excerpt,
    FileNotStoredError,
    SessionPlace,
    StoredFileInfo,
)
from chatui.tools.python import tool
from chatui.tools.tool import ToolError
from chatui.turns import ledger
from chatui.turns.running_turn import LeaseLostError

log = logging.getLogger(__name__)

PATIENCE = 20.0
"""How long, in seconds, a file waits for a locked or unreachable database before it is given up."""


ROOM_BYTES = 4096
"""About how many bytes a file takes in an in-memory file system besides its own."""


class FilesOfTurn:
    """A ``TurnFiles``. Created on the turn's event loop, and used by tools on theirs."""

    def __init__(self, turn: Turn, on_count: Callable[[int], None]) -> None:
        """``on_count``: a callback that is called on the turn's event loop with the number of files after each new file."""
        self._turn = turn
        self._on_count = on_count
        self._loop = asyncio.get_running_loop()
        self._names: set[str] = set()

    async def store(self, made: CreatedFile) -> StoredFileInfo:
        """See ``TurnFiles``. The file is stored before the model learns its name."""
        # In a thread and not in the writer: names and files can be large, and checking them would block all other writes of this process.
        new = await asyncio.to_thread(NewFile.of, made.name, made.data)
        try:
            stored = await writer.run(_store, self._turn, new, order=self._turn.pk, patience=PATIENCE)
        except FileRefusedError as error:
            raise FileNotStoredError(str(error)) from None
        except (DatabaseBusyError, LeaseLostError):
            log.warning("turn %s: a file could not be kept", self._turn.pk)
            raise FileNotStoredError("it could not be stored") from None
        self._names.add(stored.name)
        self._loop.call_soon_threadsafe(self._on_count, len(self._names))
        return stored

    async def of_conversation(self, max_bytes: int, known: Collection[UUID] | None = None) -> Sequence[ConversationFile]:
        try:
            return await pools.turns.run_or_busy(_files_for_sandbox, self._turn, max_bytes, known)
        except (DatabaseBusyError, NoKeyError):
            log.warning("turn %s: the files of its conversation could not be read", self._turn.pk)
            return ()

    async def deleted(self, known: Collection[UUID]) -> Collection[UUID]:
        """See ``TurnFiles``. Empty if the database cannot be read now."""
        try:
            return await pools.turns.run_or_busy(_gone, self._turn, known)
        except DatabaseBusyError:
            log.warning("turn %s: the files of its conversation could not be read", self._turn.pk)
            return ()


def _store(turn: Turn, new: NewFile) -> StoredFileInfo:
    # A turn that has ended may not store files: its conversation may be about to be erased.
    ledger.check_ours(turn)
    file = files.save(FileDestination(turn.asked_by_id, turn.conversation_id, turn.pk), new)
    return StoredFileInfo(file.name, file.content.size, file.content.sha256)


def _files_for_sandbox(turn: Turn, max_bytes: int, known: Collection[UUID] | None) -> list[ConversationFile]:
    wanted: list[StoredFile] = []
    for file in files.of_conversation(turn.conversation_id, documents.elsewhere(turn.conversation_id, turn.question_id)):
        if known is not None and (file.pk in known or file.source != FileSource.PERSON):
            continue
        if (max_bytes := max_bytes - file.content.size - ROOM_BYTES) < 0:
            break
        wanted.append(file)
    return [ConversationFile(file.pk, file.name, files.data_of(file)) for file in wanted]


def _gone(turn: Turn, known: Collection[UUID]) -> Collection[UUID]:
    here = StoredFile.objects.filter(conversation=turn.conversation_id, pk__in=known).values_list("pk", flat=True)
    return set(known).difference(here) | documents.elsewhere(turn.conversation_id, turn.question_id).intersection(known)


T = TypeVar("T")


class DocumentsOfTurn:
    """A ``TurnDocuments`` that finds only documents of its own conversation, above its question, and of the collections that are asked in
    it. Which of them the person may ask is looked up for each call."""

    def __init__(self, turn: Turn, *, asks_collections: bool) -> None:
        self._turn, self._asks_collections = turn, asks_collections

    async def find(self, query: str, document: str, most: int) -> Sequence[Excerpt]:
        found = await _read(lambda: passages.find(self._branch(), query, document, most))
        return [Excerpt(each.name, each.label, each.text, each.url) for each in found]

    async def names(self) -> Sequence[str]:
        return await _read(lambda: passages.names_in(self._branch()))

    def _branch(self) -> SearchedBranch:
        turn = self._turn
        asked = collections.documents_asked(turn.asked_by, turn.conversation_id) if self._asks_collections else ()
        return SearchedBranch(turn.conversation_id, turn.question_id, asked)


async def _read(reading: Callable[[], T]) -> T:
    try:
        return await pools.turns.run_or_busy(reading)
    except DatabaseBusyError:
        log.warning("the documents of a conversation could not be searched")
        raise ToolError("The documents cannot be searched at the moment.") from None


_NO_SESSION = "The tool could not be used at the moment, and the call was not made."


class SessionsOfTurn:
    """A ``TurnSessions``. A session that another person used counts as ended."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    async def last(self, place: SessionPlace) -> str | None:
        try:
            return await pools.turns.run_or_busy(_last_session, self._turn, place)
        except DatabaseBusyError:
            log.warning("turn %s: a session with a tool server could not be read", self._turn.pk)
            raise ToolError(_NO_SESSION) from None

    async def replace(self, place: SessionPlace, before: str | None, after: str) -> str:
        try:
            return await writer.run(_replace_session, self._turn, place, before, after, order=self._turn.pk, patience=PATIENCE)
        except (DatabaseBusyError, LeaseLostError):
            log.warning("turn %s: a session with a tool server could not be stored", self._turn.pk)
            raise ToolError(_NO_SESSION) from None


def _sessions(turn: Turn, place: SessionPlace) -> QuerySet[ToolSession]:
    whose = {"conversation": None, "person": turn.asked_by_id} if place.is_of_person else {"conversation": turn.conversation_id}
    return ToolSession.objects.filter(server=place.server, **whose)


def _last_session(turn: Turn, place: SessionPlace) -> str | None:
    row = _sessions(turn, place).first()
    return None if row is None else row.session if row.person_id == turn.asked_by_id else ""


def _replace_session(turn: Turn, place: SessionPlace, before: str | None, after: str) -> str:
    # A turn that has ended may not begin a session: its conversation may be about to be erased.
    ledger.check_ours(turn)
    rows = _sessions(turn, place)
    if before is None:
        conversation = None if place.is_of_person else turn.conversation_id
        row = ToolSession(server=place.server, person_id=turn.asked_by_id, conversation_id=conversation, session=after)
        ToolSession.objects.bulk_create([row], ignore_conflicts=True)
    else:
        is_last = Q(person=turn.asked_by_id, session=before)
        rows.filter(is_last if before else is_last | ~Q(person=turn.asked_by_id)).update(session=after, person=turn.asked_by_id)
    return _last_session(turn, place) or ""


def end_sessions(of: Q) -> Sequence[Future[None]]:
    """End these sessions with tool servers, because nobody may use them any more. Programs of other processes end after their idle time.
    Returns what may be waited for."""
    if not rules.has_servers():
        return ()
    from chatui.tools import server_registry  # takes 1 MB, and most installations have no tool servers

    rows = ToolSession.objects.filter(of)
    ended = [EndedSession(row.server, row.conversation_id or row.person_id, row.session) for row in rows]
    rows.update(session="")
    return server_registry.end_from_thread(ended)


def forget_from_thread(*conversations: UUID) -> None:
    """End everything that tools keep for conversations: their interpreters, and their sessions with tool servers."""
    tool.forget_from_thread(*conversations)
    end_sessions(Q(conversation__in=conversations))


def forget_ended_from_thread(conversation_id: UUID) -> None:
    """As ``forget_from_thread``, for a program's finished conversation."""
    tool.forget_ended_from_thread(conversation_id)
    end_sessions(Q(conversation=conversation_id))


def forget_person_and_wait(person_id: UUID, conversations: Sequence[UUID], seconds: float = 4.0) -> None:
    """As ``forget_from_thread``, for all of a person's conversations, waiting up to ``seconds``: for a process that exits after an
    erasure."""
    ending = [*tool.forget_from_thread(*conversations), *end_sessions(Q(person=person_id))]
    if concurrent.futures.wait(ending, seconds).not_done:
        log.warning("not everything that tools keep for the erased conversations could be ended at once")
