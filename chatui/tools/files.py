"""The file interface of tools: files that a tool makes, files of the conversation, and the document search."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID


class NotKeptError(Exception):
    """A file is not stored. The text gives the reason, for the model."""


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file that a tool made. ``name``: as the tool calls it, which may be a path. ``data``: all of its bytes."""

    name: str = field(repr=False)
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A stored file. ``name``: as people see it. ``sha256`` in hex."""

    name: str = field(repr=False)
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file of the conversation, for a tool. ``name``: without a path."""

    id: UUID
    name: str = field(repr=False)
    data: bytes = field(repr=False)


class TurnFiles(Protocol):
    """The files of one turn and of its conversation. All may be called from any event loop."""

    async def keep(self, made: MadeFile) -> KeptFile:
        """Keep a file as one of the turn's, for the person.

        Raises:
            NotKeptError: it is too large, there are too many, or it cannot be stored now.
        """
        ...

    async def of_conversation(self, most_bytes: int, known: Collection[UUID] | None = None) -> Sequence[GivenFile]:
        """What there is in the conversation, of each name the newest, as far as so many bytes go. Nothing where it cannot be read now.
        Of what its person has brought, only what came with the questions that this turn answers.

        With ``known``, only what its person has brought since those were given: what tools made, whoever knows some of it has made.
        """
        ...

    async def gone(self, known: Collection[UUID]) -> Collection[UUID]:
        """Of the files that were given, those that its person has deleted, or taken out of the questions that this turn answers."""
        ...


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A search result from a document. ``document``: its name. ``place``: such as "page 3"; empty where it has no parts. All of it is a
    stranger's text. ``url``: where its owner reads it."""

    document: str = field(repr=False)
    place: str
    text: str = field(repr=False)
    url: str = ""


class TurnDocuments(Protocol):
    """The documents of one conversation that are to be searched. Both may be called from any event loop."""

    async def find(self, query: str, document: str, most: int) -> Sequence[Excerpt]:
        """The excerpts that fit best, best first. ``document``: the name of one; empty for all."""
        ...

    async def names(self) -> Sequence[str]:
        """Of all of them."""
        ...
