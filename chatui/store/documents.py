"""The documents of questions: stores their extracted text, attaches them to a question, finds them there, and removes one.

A file's extracted text is stored once for each content.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from chatui.database.connections import short_transaction
from chatui.database.statements import one_of, query
from chatui.documents.kinds import HiddenPart, UnreadThing
from chatui.documents.reading import FileReading, ReadingState
from chatui.models.conversation import Conversation
from chatui.models.files import DocumentPart, DocumentText, DocumentUse, FileContent, FileSource, SentDocument, StoredFile
from chatui.models.keys import new_key
from chatui.models.message import Author, Message
from chatui.models.turn import Turn, TurnState
from chatui.store import document_frames, opened_pages, transcripts, uploads
from chatui.store import files as store_files
from chatui.store.context_use import Room
from chatui.store.document_frames import Document, DocumentFrame, TooLargeError
from chatui.store.transcripts import FrameMetadata, TreePosition
from renderer import characters
from renderer.frame_kinds import DOCUMENT
from renderer.frames import Frame

DELETED = "[A document was attached here. The person has deleted it.]"
SEARCH_NAME = "functions.find_in_documents"
"""The name in replies of the search tool."""
DELETED_FOUND = (
    '{"ok": true, "content": "What was found here is gone, because the person has deleted a document.", "error": null, '
    '"provenance": {"source": "chatui"}}'
)


_BATCH_PARTS = 200
"""Parts in one statement."""


def stored_bytes(reading: FileReading) -> int:
    """The size of all of its text."""
    return sum(len(part.text.encode(errors="replace")) for part in reading.parts)


def save(content: FileContent, reading: FileReading, tokens: Sequence[int], *, is_counted: bool, is_again: bool = False) -> DocumentText:
    """Store extracted text, with the ``tokens`` of each part, in the caller's transaction, which has locked the person.

    It replaces a failed extraction, because the extractor may have improved, but not text that another request has stored meanwhile: that
    may be indexed.
    """
    before = DocumentText.objects.filter(content=content, state=ReadingState.READ).first()
    if before is not None and not is_again:
        return before
    store_files.delete_texts([content.pk])
    row = DocumentText.objects.create(
        content=content,
        state=reading.state,
        kind=reading.kind[:40],
        reason=reading.reason,
        places=reading.places,
        places_without_text=reading.places_without_text,
        characters=sum(len(part.text) for part in reading.parts),
        bytes=stored_bytes(reading),
        tokens=sum(tokens),
        is_counted=is_counted,
        is_cut=reading.is_cut,
        left_out="\n".join(f"{kind} {characters.storable(str(each))}".rstrip() for kind, each in _notes_about(reading)),
    )
    parts = [
        DocumentPart(
            content=content,
            number=number,
            label=characters.storable(part.label)[:200],
            text=characters.storable(part.text),
            tokens=count,
        )
        for number, (part, count) in enumerate(zip(reading.parts, tokens, strict=True), 1)
    ]
    DocumentPart.objects.bulk_create(parts, batch_size=_BATCH_PARTS)
    return row


_ENCODING, _DOUBTFUL = "encoding", "doubtful-encoding"


def _notes_about(reading: FileReading) -> Iterator[tuple[str, object]]:
    """What is to be said about a file beside its text: kind, and name or number."""
    yield from reading.left_out
    yield from reading.unread
    if reading.encoding:
        yield (_DOUBTFUL if reading.is_encoding_doubtful else _ENCODING), reading.encoding


def encoding_of(text: DocumentText) -> tuple[str, bool]:
    """The encoding of a text file that is not ASCII, and whether it is doubtful; empty for all other files."""
    return next(((name, kind == _DOUBTFUL) for kind, name in _left_out(text) if kind in (_ENCODING, _DOUBTFUL)), ("", False))


def is_sent(content: FileContent) -> bool:
    """Whether a question has a file of this content."""
    return SentDocument.objects.filter(file__content=content).exists()


def parts_of(file: StoredFile) -> list[DocumentPart]:
    return list(DocumentPart.objects.filter(content=file.content_id).order_by("number"))


def document_of(file: StoredFile, text: DocumentText) -> Document:
    hidden = tuple(left_out(text).items())
    return Document(file.name, text.kind, tuple(parts_of(file)), text.is_cut, hidden, unread(text), file.tool_server)


_HIDDEN, _COUNTED = frozenset(HiddenPart), frozenset(UnreadThing)


def left_out(text: DocumentText) -> dict[HiddenPart, str]:
    """What is hidden in a file and was not read: by kind, the names."""
    found: dict[HiddenPart, list[str]] = {}
    for kind, name in _left_out(text):
        if kind in _HIDDEN:
            found.setdefault(HiddenPart(kind), []).append(name)
    return {kind: ", ".join(names) for kind, names in found.items()}


def unread(text: DocumentText) -> tuple[tuple[UnreadThing, int], ...]:
    """How many things of each kind are in a file but neither in its text nor marked there."""
    return tuple((UnreadThing(kind), int(name)) for kind, name in _left_out(text) if kind in _COUNTED)


def _left_out(text: DocumentText) -> Iterable[tuple[str, str]]:
    for line in text.left_out.splitlines():
        kind, _, name = line.partition(" ")
        yield kind, name


MAX_FILES = 10
"""The most files of one message."""


class NoSuchFileError(Exception):
    """The file is not the person's, was sent before, was deleted, or has no text."""


class AnsweringError(Exception):
    """A running answer reads the document: its request would be stored after the deletion."""


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """A file that comes with a question."""

    id: UUID
    use: str = DocumentUse.WHOLE
    """A value of ``DocumentUse``."""
    places: str = field(default="", repr=False)
    """The chosen ones, such as "1-12, 15"."""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A file with its frame, to be stored."""

    file: StoredFile
    use: QuestionFile
    given: DocumentFrame


def elsewhere(conversation_id: UUID, question_id: UUID) -> set[UUID]:
    """The files that came only with questions of other branches, such as other versions of a question above ``question_id``."""
    places: dict[UUID, set[UUID]] = defaultdict(set)
    rows = SentDocument.objects.filter(file__conversation=conversation_id)
    for file, message in rows.values_list("file_id", "message_id"):
        places[file].add(message)
    here = transcripts.path(conversation_id, question_id) if places else ()
    return {file for file, messages in places.items() if messages.isdisjoint(here)}


def prepare(person_id: UUID, wanted: Sequence[QuestionFile], room: Room, in_question: Collection[UUID] = ()) -> list[PreparedDocument]:
    """Prepare the frames of documents that a person sends, in order, without storing anything.

    ``in_question``: files sent before that may be attached to another version of their question.

    Raises:
        NoSuchFileError: see there.
        PlacesError: a document has no such places.
        TooLargeError: together they do not fit.
    """
    if len({use.id for use in wanted}) != len(wanted) or len(wanted) > MAX_FILES or any(use.use not in DocumentUse for use in wanted):
        raise NoSuchFileError
    files = uploads.or_sent(person_id, in_question).select_related("content", "content__document").in_bulk([use.id for use in wanted])
    if len(files) != len(wanted):
        raise NoSuchFileError
    found: dict[UUID, PreparedDocument] = {}
    # Documents without a fixed length share the remaining room equally; what a short one does not need goes to longer ones.
    fixed = [use for use in wanted if use.use != DocumentUse.FIRST]
    firsts = sorted((use for use in wanted if use.use == DocumentUse.FIRST), key=lambda each: _tokens(files[each.id]))
    for number, use in enumerate([*fixed, *firsts]):
        tokens_left = room.documents - sum(each.given.tokens for each in found.values())
        found[use.id] = PreparedDocument(files[use.id], use, _document_frame(files[use.id], use, tokens_left // (len(wanted) - number)))
    if not room.fits(sum(each.given.tokens for each in found.values())):
        raise TooLargeError
    return [found[use.id] for use in wanted]


def _document_frame(file: StoredFile, use: QuestionFile, max_tokens: int) -> DocumentFrame:
    """The document as the model gets it. Raises NoSuchFileError if no text was read from the file, and TooLargeError."""
    text: DocumentText | None = getattr(file.content, "document", None)
    if text is None or text.state != ReadingState.READ:
        raise NoSuchFileError
    document = document_of(file, text)
    match use.use:
        case DocumentUse.PLACES:
            return document_frames.chosen(document, use.places)
        case DocumentUse.SEARCH:
            return document_frames.to_search(document)
        case DocumentUse.WHOLE:
            return document_frames.whole(document)
    given = document_frames.first(document, max_tokens)
    if given.tokens > max_tokens:
        raise TooLargeError
    return given


def _tokens(file: StoredFile) -> int:
    text: DocumentText | None = getattr(file.content, "document", None)
    return text.tokens if text else 0


def put(conversation: Conversation, place: TreePosition, documents: Sequence[PreparedDocument]) -> TreePosition:
    """Store the frames at a place, in the caller's transaction. Returns the place after them. Raises NoSuchFileError if one was sent or
    deleted meanwhile."""
    _take([document.file for document in documents], conversation)
    frame_keys = [new_key() for _ in documents]
    rows = [(document.given.frame, Author.PERSON, FrameMetadata(key=key)) for document, key in zip(documents, frame_keys, strict=True)]
    end = transcripts.append_chain_at(conversation, place, rows)[-1]
    SentDocument.objects.bulk_create(
        SentDocument(
            message_id=key,
            end=end,
            file=document.file,
            use=document.use.use,
            places=document.given.places,
            tokens=document.given.tokens,
        )
        for document, key in zip(documents, frame_keys, strict=True)
    )
    return TreePosition(end.pk, place.position + len(rows))


def _take(files: Sequence[StoredFile], conversation: Conversation) -> None:
    """Move pending files into the conversation; files of another version of the question must still exist."""
    new = [file.pk for file in files if file.conversation_id is None]
    sent_ids = [file.pk for file in files if file.conversation_id is not None]
    owner = conversation.owner_id
    if uploads.of_person(owner).filter(pk__in=new).update(conversation=conversation) != len(new):
        raise NoSuchFileError
    if sent_ids and StoredFile.objects.filter(owner=owner, conversation=conversation, pk__in=sent_ids).count() != len(sent_ids):
        raise NoSuchFileError


def of_questions(questions: Collection[Message]) -> Mapping[UUID, tuple[SentDocument, ...]]:
    """The documents of each question, in order, with their files and without text. One statement where there are none, otherwise two."""
    parents = list({question.parent_id for question in questions if question.parent_id})
    any_of = "SELECT 1 FROM chatui_sentdocument WHERE end_id"
    if not parents or not query(f"{any_of} {one_of(parents)} LIMIT 1", *parents):
        return {}
    rows = SentDocument.objects.filter(end__in=parents).select_related("file", "file__content", "file__content__document")
    by_end: dict[UUID, list[SentDocument]] = defaultdict(list)
    for row in rows.order_by("message__position"):
        by_end[row.end_id].append(row)
    return {question.pk: tuple(by_end[question.parent_id]) for question in questions if question.parent_id in by_end}


def names_and_tokens(messages: Collection[UUID]) -> Mapping[UUID, tuple[str, int]]:
    """The names and token counts of these documents by message, without deleted ones. No statement for none."""
    if not messages:
        return {}
    rows = SentDocument.objects.filter(message__in=messages).exclude(file=None)
    return {key: (name, tokens) for key, name, tokens in rows.values_list("message", "file__name", "tokens")}


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
        store_files.lock_owner(file.owner_id)
        for conversation in StoredFile.objects.filter(pk=file.pk, conversation__isnull=False).values_list("conversation", flat=True):
            _forget_in(conversation, file)
        opened_pages.forget_document(file.pk)
        StoredFile.objects.filter(pk=file.pk).delete()
    store_files.delete_files(file.owner_id, StoredFile.objects.none())


def _forget_in(conversation: UUID, file: StoredFile) -> None:
    """Take the file's text out of a conversation that it was sent in. Call this in a transaction.

    Raises:
        AnsweringError: see there.
    """
    if Turn.objects.filter(conversation=conversation, state=TurnState.RUNNING).exists():
        raise AnsweringError
    rows = SentDocument.objects.filter(file=file)
    for key, use in list(rows.values_list("message", "use")):
        transcripts.replace_text(key, Frame(DOCUMENT, DELETED))
        if use == DocumentUse.SEARCH:
            # A reply may contain passages of several documents; those of the others can be searched again.
            transcripts.replace_replies(conversation, SEARCH_NAME, DELETED_FOUND)
    # Requests to a model are stored verbatim, for the debug view.
    Turn.objects.filter(conversation=conversation).exclude(request=None).update(request=None)
    rows.update(file=None)
