"""A person's actions on an uploaded file: show its extracted text, and delete it."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from chatui.models import User
from chatui.models.files.stored_file import FileSource
from chatui.permissions import files
from chatui.permissions.access import NotFoundError
from chatui.store import transcripts
from chatui.store.documents import attached, passages, texts
from chatui.store.documents.attached import AnsweringError as AnsweringError  # who deletes, catches it
from chatui.tools.python import python_tool
from renderer.gate import VisibleText


def text_of(user: User | None, file_id: UUID) -> VisibleText:
    """What was read of a file of one's own, with the label of each part above it.

    Raises:
        NotFoundError: as ``files.own_file``, and where there is no text.
    """
    parts = texts.parts_of(files.own_file(user, file_id))
    if not parts:
        raise NotFoundError
    return transcripts.own_words("\n\n".join(f"[{part.label}]\n{part.text}" if part.label else part.text for part in parts))


@dataclass(frozen=True, slots=True)
class Place:
    """A passage of a document of one's own, with what stands around it. ``number``: which one of how ``many``."""

    name: str = field(repr=False)
    file_id: UUID
    label: str
    before: VisibleText = field(repr=False)
    text: VisibleText = field(repr=False)
    behind: VisibleText = field(repr=False)
    number: int
    many: int


def place_of(user: User | None, file_id: UUID, number: int) -> Place:
    """A passage of a file of one's own.

    Raises:
        NotFoundError: as ``files.own_file``, and where it has no such passage.
    """
    file = files.own_file(user, file_id)
    found = passages.surroundings(file.content_id, number)
    if found is None:
        raise NotFoundError
    before, text, behind = (transcripts.own_words(each) for each in (found.before, found.text, found.behind))
    return Place(file.name, file.pk, found.label, before, text, behind, found.number, found.many)


def delete(person: User, file_id: UUID) -> None:
    """Delete a file that the person brought, wherever it went: from the prompt, and from the interpreter of its conversation.

    Raises:
        NotFoundError: as ``files.own_file``, and for a file that a tool made.
        AnsweringError: an answer is being written in its conversation.
    """
    file = files.own_file(person, file_id)
    if file.source != FileSource.PERSON:
        raise NotFoundError
    conversation_id = file.conversation_id
    attached.delete(file)
    if conversation_id is not None:
        python_tool.forget_files_from_thread(conversation_id, [file.name])
