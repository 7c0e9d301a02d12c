"""Stores a file's extracted text, once for each content, and loads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet

from chatui.documents.reading import Reading, State
from chatui.models import DocumentPart, DocumentPassage, DocumentText, FileContent, StoredFile
from chatui.store import transcripts
from chatui.store.documents.frames import Document, Part

_BATCH_PARTS = 200
"""Parts in one statement."""


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """Extracted text with its token counts. ``tokens``: of each part."""

    reading: Reading = field(repr=False)
    tokens: Sequence[int]
    is_counted: bool

    @property
    def bytes(self) -> int:
        """The stored size of all of its text."""
        return sum(len(part.text.encode(errors="replace")) for part in self.reading.parts)


def save(content: FileContent, found: ExtractedText) -> DocumentText:
    """Store extracted text, in the caller's transaction, which has locked the person.

    It replaces a failed extraction, because the extractor may have improved, but not text that another request has stored meanwhile: that
    may be indexed.
    """
    if (before := DocumentText.objects.filter(content=content, state=State.READ).first()) is not None:
        return before
    reading = found.reading
    delete_texts([content.pk])
    row = DocumentText.objects.create(
        content=content,
        state=reading.state,
        kind=reading.kind[:40],
        reason=reading.reason,
        places=reading.places,
        places_without_text=reading.places_without_text,
        characters=sum(len(part.text) for part in reading.parts),
        bytes=found.bytes,
        tokens=sum(found.tokens),
        is_counted=found.is_counted,
        is_cut=reading.is_cut,
    )
    parts = [
        DocumentPart(
            content=content,
            number=number,
            label=transcripts.storable(part.label)[:200],
            text=transcripts.storable(part.text),
            tokens=tokens,
        )
        for number, (part, tokens) in enumerate(zip(reading.parts, found.tokens, strict=True), 1)
    ]
    DocumentPart.objects.bulk_create(parts, batch_size=_BATCH_PARTS)
    return row


def delete_texts(contents: Collection[int]) -> None:
    """Delete the extracted text of these contents. Django's own deletion would load it first."""
    rows: tuple[QuerySet[DocumentPart] | QuerySet[DocumentPassage] | QuerySet[DocumentText], ...] = (
        DocumentPassage.objects.filter(content__in=contents),
        DocumentPart.objects.filter(content__in=contents),
        DocumentText.objects.filter(content__in=contents),
    )
    for each in rows:
        each._raw_delete(each.db)


def parts_of(file: StoredFile) -> list[DocumentPart]:
    """The parts of a file, in order."""
    return list(DocumentPart.objects.filter(content=file.content_id).order_by("number"))


def document_of(file: StoredFile, text: DocumentText) -> Document:
    """A file as a document for a model."""
    parts = tuple(Part(part.number, part.label, part.tokens, part.text) for part in parts_of(file))
    return Document(file.name, text.kind, parts, text.is_cut)
