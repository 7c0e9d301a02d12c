"""The actions of a person on their uploaded file: show its extracted text, show a passage of it, and delete it."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from chatui.models import User
from chatui.models.files.stored_file import FileSource
from chatui.permissions import files
from chatui.permissions.access import NotFoundError
from chatui.store import transcripts
from chatui.store.documents import attached, passages, texts
from chatui.store.documents.attached import AnsweringError as AnsweringError  # callers that delete catch it
from chatui.tools.python import python_tool
from renderer.gate import VisibleText


def text_of(user: User | None, file_id: UUID) -> VisibleText:
    """The extracted text of the person's own file, with a label above each part.

    Raises:
        NotFoundError: as ``files.own_file``, and if there is no text.
    """
    parts = texts.parts_of(files.own_file(user, file_id))
    if not parts:
        raise NotFoundError
    return transcripts.own_words("\n\n".join(f"[{part.label}]\n{part.text}" if part.label else part.text for part in parts))


@dataclass(frozen=True, slots=True)
class PassageInContext:
    """A passage of the person's own document, with the text before and after it. It is passage ``number`` of ``count``."""

    name: str = field(repr=False)
    file_id: UUID
    label: str
    before: VisibleText = field(repr=False)
    text: VisibleText = field(repr=False)
    after: VisibleText = field(repr=False)
    number: int
    count: int


def passage_of(user: User | None, file_id: UUID, number: int) -> PassageInContext:
    """A passage of the person's own file.

    Raises:
        NotFoundError: as ``files.own_file``, and if it has no such passage.
    """
    file = files.own_file(user, file_id)
    found = passages.surroundings(file.content_id, number)
    if found is None:
        raise NotFoundError
    before, text, after = (transcripts.own_words(each) for each in (found.before, found.text, found.after))
    return PassageInContext(file.name, file.pk, found.label, before, text, after, found.number, found.count)


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
    attached.delete(file)
    if conversation_id is not None:
        python_tool.forget_files_from_thread(conversation_id, [file.name])
