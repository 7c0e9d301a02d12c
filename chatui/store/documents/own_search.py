"""Searches all documents that a person has sent, as part of their own search, if they have enabled it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef

from chatui.models import DocumentPassage, StoredFile
from chatui.models.files.stored_file import FileSource
from chatui.store.documents import passages
from chatui.store.documents.passages import Passage
from chatui.store.search_words import Query

MAX_DOCUMENTS = 200
"""The most documents searched, the newest first. Each word is looked up in each of them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A passage with all of the words, and when its document was uploaded."""

    passage: Passage = field(repr=False)
    at: datetime


def find_in_own_files(person_id: UUID, query: Query, most: int, seconds: float) -> list[Found]:
    """The passages with all of these words, best first, at most one per document.

    Documents that are not indexed yet are indexed first, starting none after ``seconds``; the next search continues.
    """
    if not query.wanted:
        return []
    files = _sent_by(person_id)
    _index_missing(files, seconds)
    named = {content: (file.pk, file.name) for content, file in files.items()}
    found: dict[UUID, Found] = {}
    by_key = {file.pk: file for file in files.values()}
    for file_id, passage in passages.with_all(named, query):
        found.setdefault(file_id, Found(passage, by_key[file_id].created_at))
    return list(found.values())[:most]


def _sent_by(person_id: UUID) -> Mapping[int, StoredFile]:
    """The newest file of each content that the person sent to a conversation that their searches cover, by content."""
    rows = StoredFile.objects.filter(
        owner=person_id,
        source=FileSource.PERSON,
        conversation__owner=person_id,
        conversation__deleted_at=None,
        conversation__unfinished_until=None,
        conversation__temporary_until=None,
        conversation__isnull=False,
        content__document__isnull=False,
    )
    files: dict[int, StoredFile] = {}
    for file in rows.order_by("-created_at", "-pk")[:MAX_DOCUMENTS]:
        files.setdefault(file.content_id, file)
    return files


def _index_missing(files: Mapping[int, StoredFile], seconds: float) -> None:
    end = time.monotonic() + seconds
    first = DocumentPassage.objects.filter(content=OuterRef("content"), number=1)
    keys = [file.pk for file in files.values()]
    missing = StoredFile.objects.filter(~Exists(first), pk__in=keys).order_by("-created_at").values_list("content", flat=True)
    for content in list(missing):
        if time.monotonic() >= end:
            return
        passages.index(content)
