"""The interfaces by which tools access what is stored: files that a tool creates, files of the conversation, the document search, and the
sessions with tool servers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol
from uuid import UUID


class FileNotStoredError(Exception):
    """A file was not stored. The text gives the reason, for the model."""


@dataclass(frozen=True, slots=True)
class CreatedFile:
    """A file that a tool created."""

    name: str = field(repr=False)
    """The tool's own name for it, which may be a path."""
    data: bytes = field(repr=False)
    """All of its bytes."""


@dataclass(frozen=True, slots=True)
class StoredFileInfo:
    """A stored file."""

    name: str = field(repr=False)
    """The name that people see."""
    size: int
    sha256: str
    """In hexadecimal."""


@dataclass(frozen=True, slots=True)
class ConversationFile:
    """A file of the conversation, as a tool receives it. ``name``: without a path."""

    id: UUID
    name: str = field(repr=False)
    data: bytes = field(repr=False)


class TurnFiles(Protocol):
    """The files of one turn and of its conversation. All methods may be called from any event loop."""

    async def store(self, made: CreatedFile) -> StoredFileInfo:
        """Store a file with the turn, for the person. Raises FileNotStoredError: it is too large, one too many, or cannot be stored now."""

    async def of_conversation(self, max_bytes: int, known: Collection[UUID] | None = None) -> Sequence[ConversationFile]:
        """The files of the conversation, the newest of each name, up to ``max_bytes``. Empty if they cannot be read now. Of the uploaded
        files, only those attached to questions on this turn's branch. ``known``: the files that an interpreter already has. With them, only
        files uploaded since are returned, because the interpreter has created the others itself.
        """

    async def deleted(self, known: Collection[UUID]) -> Collection[UUID]:
        """The ``known`` files that the person has since deleted, or removed from the questions on this turn's branch."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A search result from a document."""

    document: str = field(repr=False)
    """The document's name."""
    place: str
    """Such as "page 3"; empty if the document has no parts."""
    text: str = field(repr=False)
    """Untrusted."""
    url: str = ""
    """The page on which the document's owner reads it."""


class TurnDocuments(Protocol):
    """The searchable documents of one conversation. Both methods may be called from any event loop."""

    async def find(self, query: str, document: str, most: int) -> Sequence[Excerpt]:
        """The ``most`` best excerpts, best first. ``document``: the name of the document to search; empty for all."""

    async def names(self) -> Sequence[str]:
        """The names of all documents."""


class SessionPlace(NamedTuple):
    """Whose session with which server: the turn's conversation's, or its person's in all conversations."""

    server: str
    is_of_person: bool


@dataclass(frozen=True, slots=True)
class EndedSession:
    """A session that nobody may use any more. ``key``: the conversation, or the person whose session it was."""

    server: str
    key: UUID
    session: str = field(repr=False)


class TurnSessions(Protocol):
    """The sessions with tool servers that the turn may use, whichever process began them. Call both methods from any event loop."""

    async def last(self, place: SessionPlace) -> str | None:
        """The session that was used last; empty if it has ended, None if there never was one. Raises ToolError if it cannot be read now."""

    async def replace(self, place: SessionPlace, before: str | None, after: str) -> str:
        """Store ``after`` if ``before`` is still the last one. Returns the one that is stored now. Raises ToolError if none can be stored
        now, or the turn has ended."""
