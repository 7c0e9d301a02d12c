"""Attaches documents to a question, finds a question's documents, and removes one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import QuerySet

from chatui.documents.reading import State
from chatui.models import Conversation, DocumentText, Message, SentDocument, StoredFile, Turn
from chatui.models.files.document import DocumentUse
from chatui.models.files.stored_file import FileSource
from chatui.models.keys import new_key
from chatui.models.message import Author
from chatui.models.turn import TurnState
from chatui.store import branch_walk, transcripts
from chatui.store.browsing import opened_pages
from chatui.store.documents import counting, frames, pending_uploads, texts
from chatui.store.documents.budget import Room
from chatui.store.documents.frames import DocumentFrame
from chatui.store.documents.frames import TooLargeError as TooLargeError  # callers import it from here
from chatui.store.files import storage
from chatui.store.short_transactions import short_transaction
from chatui.store.transcripts import FrameMetadata, TreePosition
from renderer.frame_kinds import DOCUMENT
from renderer.frames import Frame

MAX_FILES = 10
"""The most files of one message."""


class NoSuchFileError(Exception):
    """The file is not the person's, was sent before, was deleted, or has no text."""


class AnsweringError(Exception):
    """A running answer reads the document: its request would be stored after the deletion."""


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file that comes with a question. ``use``: a value of ``DocumentUse``; ``places``: the chosen ones, such as "1-12, 15"."""

    id: UUID
    use: str = DocumentUse.WHOLE
    places: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A file with its frame, to be stored."""

    file: StoredFile
    use: FileUse
    given: DocumentFrame


def elsewhere(conversation_id: UUID, question_id: UUID) -> set[UUID]:
    """The files that came only with questions of other branches, such as other versions of a question above ``question_id``."""
    places: dict[UUID, set[UUID]] = defaultdict(set)
    rows = SentDocument.objects.filter(file__conversation=conversation_id)
    for file, message in rows.values_list("file_id", "message_id"):
        places[file].add(message)
    here = branch_walk.path(conversation_id, question_id) if places else ()
    return {file for file, messages in places.items() if messages.isdisjoint(here)}


def prepare(person_id: UUID, wanted: Sequence[FileUse], room: Room, in_question: Collection[UUID] = ()) -> list[PreparedDocument]:
    """Prepare the frames of documents that a person sends, in order, without storing anything.

    ``kept``: files sent before that may be attached to another version of their question.

    Raises:
        NoSuchFileError: see there.
        PlacesError: a document has no such places.
        TooLargeError: together they do not fit.
    """
    if len({use.id for use in wanted}) != len(wanted) or len(wanted) > MAX_FILES or any(use.use not in DocumentUse for use in wanted):
        raise NoSuchFileError
    files = (
        pending_uploads.or_sent(person_id, in_question).select_related("content", "content__document").in_bulk([use.id for use in wanted])
    )
    if len(files) != len(wanted):
        raise NoSuchFileError
    found: dict[UUID, PreparedDocument] = {}
    # Documents without a fixed length share the remaining room equally; what a short one does not need goes to longer ones.
    fixed = [use for use in wanted if use.use != DocumentUse.FIRST]
    firsts = sorted((use for use in wanted if use.use == DocumentUse.FIRST), key=lambda each: _tokens(files[each.id]))
    for number, use in enumerate([*fixed, *firsts]):
        left = room.documents - sum(each.given.tokens for each in found.values())
        found[use.id] = PreparedDocument(files[use.id], use, _given(files[use.id], use, left // (len(wanted) - number)))
    if not room.fits(sum(each.given.tokens for each in found.values())):
        raise TooLargeError
    return [found[use.id] for use in wanted]


def _given(file: StoredFile, use: FileUse, left: int) -> DocumentFrame:
    text: DocumentText | None = getattr(file.content, "document", None)
    if text is None or text.state != State.READ:
        raise NoSuchFileError
    document = texts.document_of(file, text)
    if use.use != DocumentUse.FIRST:
        return frames.give(document, use.use, use.places)
    given = frames.first(document, left, _begin)
    if given.tokens > left:
        raise TooLargeError
    return given


def _tokens(file: StoredFile) -> int:
    text: DocumentText | None = getattr(file.content, "document", None)
    return text.tokens if text else 0


def _begin(text: str, most: int) -> tuple[str, int]:
    def count(each: str) -> int:
        return counting.tokens_of([each])[0][0]

    cut = counting.begin_of(text, most, count)
    return cut, count(cut)


def put(conversation: Conversation, place: TreePosition, documents: Sequence[PreparedDocument]) -> TreePosition:
    """Store the frames at a place, in the caller's transaction. Returns the place after them.

    Raises:
        NoSuchFileError: one was sent or deleted meanwhile.
    """
    _take([each.file for each in documents], conversation)
    frame_keys = [new_key() for _ in documents]
    rows = [(each.given.frame, Author.PERSON, FrameMetadata(key=key)) for each, key in zip(documents, frame_keys, strict=True)]
    end = transcripts.append_chain_at(conversation, place, rows)[-1]
    SentDocument.objects.bulk_create(
        SentDocument(
            message_id=key,
            end=end,
            file=each.file,
            use=each.use.use,
            places=each.given.places,
            tokens=each.given.tokens,
        )
        for each, key in zip(documents, frame_keys, strict=True)
    )
    return TreePosition(end.pk, place.position + len(rows))


def _take(files: Sequence[StoredFile], conversation: Conversation) -> None:
    """Move pending files into the conversation; files of another version of the question must still exist."""
    new = [file.pk for file in files if file.conversation_id is None]
    sent_ids = [file.pk for file in files if file.conversation_id is not None]
    owner = conversation.owner_id
    if pending_uploads.of_person(owner).filter(pk__in=new).update(conversation=conversation) != len(new):
        raise NoSuchFileError
    if sent_ids and StoredFile.objects.filter(owner=owner, conversation=conversation, pk__in=sent_ids).count() != len(sent_ids):
        raise NoSuchFileError


def of_questions(questions: Collection[Message]) -> Mapping[UUID, tuple[SentDocument, ...]]:
    """The documents of each question, in order, with their files and without text. One statement."""
    parents = {question.parent_id for question in questions if question.parent_id}
    if not parents:
        return {}
    rows = SentDocument.objects.filter(end__in=parents).select_related("file", "file__content", "file__content__document")
    by_end: dict[UUID, list[SentDocument]] = defaultdict(list)
    for row in rows.order_by("message__position"):
        by_end[row.end_id].append(row)
    return {question.pk: tuple(by_end[question.parent_id]) for question in questions if question.parent_id in by_end}


def tokens_of(messages: Collection[UUID]) -> Mapping[UUID, int]:
    """The token counts of these documents by message, without deleted ones. No statement for none."""
    if not messages:
        return {}
    rows = SentDocument.objects.filter(message__in=messages).exclude(file=None)
    return dict(rows.values_list("message", "tokens"))


def names_of(messages: Collection[UUID]) -> Mapping[UUID, str]:
    """The names of these documents by message, without deleted ones. No statement for none."""
    if not messages:
        return {}
    rows = SentDocument.objects.filter(message__in=messages).exclude(file=None)
    return dict(rows.values_list("message", "file__name"))


def are_in(conversation: Conversation) -> bool:
    """Whether a document was ever sent in a conversation: its text may be in every later prompt, even if it was deleted."""
    return SentDocument.objects.filter(message__conversation=conversation).exists()


def delete(file: StoredFile) -> None:
    """Delete a file that its owner uploaded: the file, its extracted text, its frames, and the stored requests that contain it.

    The frames of other documents and all answers stay unchanged.

    Raises:
        NoSuchFileError: a tool made it.
        AnsweringError: see there.
    """
    if file.source != FileSource.PERSON:
        raise NoSuchFileError
    with short_transaction():
        # Starting a turn locks the same row, so no turn begins between the check and the deletion.
        storage.lock_owner(file.owner_id)
        for conversation in StoredFile.objects.filter(pk=file.pk, conversation__isnull=False).values_list("conversation", flat=True):
            _forget_in(conversation, file)
        opened_pages.forget_document(file.pk)
        StoredFile.objects.filter(pk=file.pk).delete()
    storage.delete_files(file.owner_id, StoredFile.objects.none())


def _forget_in(conversation: UUID, file: StoredFile) -> None:
    """In the caller's transaction."""
    if Turn.objects.filter(conversation=conversation, state=TurnState.RUNNING).exists():
        raise AnsweringError
    rows = SentDocument.objects.filter(file=file)
    for key, use in list(rows.values_list("message", "use")):
        transcripts.replace_text(key, Frame(DOCUMENT, frames.DELETED))
        if use == DocumentUse.SEARCH:
            # A reply may contain passages of several documents; those of the others can be searched again.
            transcripts.replace_replies(conversation, frames.SEARCH_NAME, frames.DELETED_FOUND)
    # Requests to a model are stored verbatim, for the debug view.
    _requests_of(conversation).update(request=None)
    rows.update(file=None)


def _requests_of(conversation: UUID) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation=conversation).exclude(request=None)
