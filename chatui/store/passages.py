"""Full-text search in documents: in those of a conversation that are too long for the context window, and in all that a person has sent.

Every word is stored with a prefix for its content: a search only reads the words of the documents that it searches. All of a person's
documents are searched as part of their own search, if they have enabled it.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Substr
from django.urls import reverse

from chatui.database.connections import short_transaction
from chatui.documents.chunks import Chunk, chunks
from chatui.models.files import DocumentPart, DocumentPassage, DocumentUse, FileSource, SentDocument, StoredFile
from chatui.store import search_index, search_words, transcripts
from chatui.store.search_words import Query, Term

MAX_WORDS = 12
"""Words of a search that are used."""
_TERM_BYTES = 100_000
BATCH_ROWS = 300
"""Rows in one transaction, so that nobody else waits for long."""
_MAX_ROWS = 5000
"""Rows with one word. A word in more of them is ignored."""
_CANDIDATES = 24
"""The best rows, whose texts are loaded."""
_CANDIDATES_OF_EACH = 3
"""The best rows of each document, whose texts are loaded if one place of each document is shown."""
_AROUND_CHARS = 4000
"""Characters shown on either side of a passage."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A search result."""

    name: str = field(repr=False)
    """The document's."""
    label: str
    """The part's, such as "page 3"."""
    text: str = field(repr=False)
    url: str = ""
    """Where its owner can read it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A passage with the text before and after it in its part. ``number``: of ``count`` passages."""

    label: str
    before: str = field(repr=False)
    text: str = field(repr=False)
    after: str = field(repr=False)
    number: int
    count: int


def index(content_id: int) -> None:
    """Index the text of a content, unless it is indexed already.

    Takes seconds for a long one, in short transactions. The first passage is stored last: if it exists, all do.
    """
    if DocumentPassage.objects.filter(content=content_id, number=1).exists():
        return
    texts = DocumentPart.objects.filter(content=content_id).order_by("number").values_list("text", flat=True)
    rows = [_row(content_id, number, chunk) for number, chunk in enumerate(chunks(texts), 1)]
    rows.reverse()
    for at in range(0, len(rows), BATCH_ROWS):
        with short_transaction():
            DocumentPassage.objects.bulk_create(rows[at : at + BATCH_ROWS], ignore_conflicts=True)


def are_in(conversation_id: UUID) -> bool:
    """Whether a conversation has documents for the search tool."""
    return _sent(conversation_id).exists()


@dataclass(frozen=True, slots=True)
class SearchedBranch:
    """The scope of a search: a message and those above it. Documents of other branches are not searched. ``also``: documents from
    elsewhere, such as of collections: content, file and name of each."""

    conversation_id: UUID
    message_id: UUID
    also: Sequence[tuple[int, UUID, str]] = field(default=(), repr=False)


def names_in(branch: SearchedBranch) -> list[str]:
    return sorted({name for _, _, name in _documents(branch)})


def find(branch: SearchedBranch, asked: str, name: str, most: int) -> list[Passage]:
    """The passages that match best, best first. ``name``: of one document; empty for all. Empty if nothing matches."""
    named = {content: (file, each) for content, file, each in _documents(branch) if not name or each.casefold() == name.casefold()}
    query = search_words.query(asked, MAX_WORDS)
    if not named or not query.wanted:
        return []
    scores = _scores(named, query.terms)
    best = sorted(scores, key=lambda key: (-scores[key], key))[:_CANDIDATES]
    return [passage for _, passage in _ranked(named, query, scores, best)[:most]]


def _ranked(
    named: Mapping[int, tuple[UUID, str]], query: Query, scores: Mapping[int, float], keys: Collection[int]
) -> list[tuple[UUID, Passage]]:
    """The passages with these keys, best first, each with its file."""
    rows = _with_texts(DocumentPassage.objects.filter(pk__in=keys, content__in=named))
    found = [(_weight(scores[row.pk], text, query), row, label, text.strip()) for row, label, text in rows]
    found.sort(key=lambda each: (-each[0], each[1].content_id, each[1].number))
    files = [named[row.content_id] for _, row, _, _ in found]
    return [
        (file, Passage(name, label, text, address(file, row.number)))
        for (file, name), (_, row, label, text) in zip(files, found, strict=True)
    ]


def address(file_id: UUID, number: int) -> str:
    """The address at which the owner of a file can read one of its passages."""
    return f"{reverse('passage', args=[file_id, number])}#here"


_ADDRESS = re.compile(r"/documents/([0-9a-f-]{36})/([0-9]{1,7})/")


def place_of(url: str) -> tuple[UUID, int] | None:
    """The file and the number of the passage that ``address`` was given; None for another address."""
    match = _ADDRESS.match(url)
    return (UUID(match[1]), int(match[2])) if match else None


def title(name: str, label: str) -> str:
    """What a citation of a passage is called."""
    return f"{name}, {label}" if label else name


def labels(places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """The labels of the parts with these passages, by content and number. Two statements; none for none."""
    wanted = set(places)
    contents = {content for content, _ in wanted}
    if not wanted:
        return {}
    rows = DocumentPassage.objects.filter(content__in=contents, number__in={number for _, number in wanted})
    parts = {(content, number): part for content, number, part in rows.values_list("content", "number", "part")}
    named = DocumentPart.objects.filter(content__in=contents, number__in=set(parts.values())).values_list("content", "number", "label")
    known = {(content, number): label for content, number, label in named}
    return {place: known.get((place[0], parts[place]), "") for place in wanted if place in parts}


def surroundings(content_id: int, number: int) -> Surroundings | None:
    """A passage with its surroundings; None if there is no such passage. The database extracts it."""
    row = DocumentPassage.objects.filter(content=content_id, number=number).defer("terms").first()
    if row is None:
        return None
    begin = max(0, row.start - _AROUND_CHARS)
    part = DocumentPart.objects.filter(content=content_id, number=row.part)
    end = row.start + row.length
    cut = part.annotate(cut=Substr("text", begin + 1, end - begin + _AROUND_CHARS)).values_list("label", "cut").first()
    if cut is None:
        return None
    label, text = cut
    count = DocumentPassage.objects.filter(content=content_id).count()
    return Surroundings(label, text[: row.start - begin], text[row.start - begin : end - begin], text[end - begin :], number, count)


def _row(content_id: int, number: int, chunk: Chunk) -> DocumentPassage:
    terms = _terms(content_id, chunk.text)
    return DocumentPassage(content_id=content_id, number=number, part=chunk.number, start=chunk.start, length=len(chunk.text), terms=terms)


def terms_of(row: DocumentPassage) -> str:
    """The words of a stored passage as its row holds them, from the text of its document."""
    part = DocumentPart.objects.filter(content=row.content_id, number=row.part)
    return _terms(row.content_id, part.annotate(cut=Substr("text", row.start + 1, row.length)).values_list("cut", flat=True).first() or "")


def _terms(content_id: int, text: str) -> str:
    return " ".join(_prefix(content_id) + term for term in search_words.terms(text, _TERM_BYTES))


def _sent(conversation_id: UUID) -> QuerySet[SentDocument]:
    return SentDocument.objects.filter(message__conversation=conversation_id, use=DocumentUse.SEARCH, file__isnull=False)


def _documents(branch: SearchedBranch) -> list[tuple[int, UUID, str]]:
    """Content, file and name of each document, the last sent last. Several may have the same content."""
    sent = _sent(branch.conversation_id).order_by("message__position")
    rows = list(sent.values_list("message", "file__content", "file", "file__name"))
    above = set(transcripts.path(branch.conversation_id, branch.message_id)) if rows else set()
    return [*branch.also, *((content, file, name) for message, content, file, name in rows if message in above)]


def _scores(contents: Collection[int], terms: Iterable[Term]) -> dict[int, float]:
    """The score of each row: words that few passages have count more."""
    everything = DocumentPassage.objects.filter(content__in=contents).count()
    scores: dict[int, float] = defaultdict(float)
    for term in terms:
        rows = _having(contents, term)
        tells = math.log(1 + (everything - len(rows) + 0.5) / (len(rows) + 0.5))
        for row in rows:
            scores[row] += tells
    return scores


def _best_of_each(scores: Mapping[int, float]) -> list[int]:
    """The best rows, with a limit per content, so that a long document leaves room for others."""
    ranked = sorted(scores, key=lambda key: (-scores[key], key))[:_MAX_ROWS]
    content_of = dict(DocumentPassage.objects.filter(pk__in=ranked).values_list("pk", "content"))
    taken: Counter[int | None] = Counter()
    best: list[int] = []
    for key in ranked:
        content = content_of.get(key)
        taken[content] += 1
        if taken[content] <= _CANDIDATES_OF_EACH:
            best.append(key)
    return best[:_CANDIDATES]


def _having(contents: Collection[int], term: Term) -> list[int]:
    asked = search_index.expression(((_prefix(content), term) for content in contents), needs_all=False)
    with connection.cursor() as cursor:
        cursor.execute(_SQLITE if connection.vendor == "sqlite" else _POSTGRESQL, [asked, _MAX_ROWS])
        return [row for (row,) in cursor]


_SQLITE = "SELECT rowid FROM chatui_passages WHERE chatui_passages MATCH %s LIMIT %s"
_POSTGRESQL = "SELECT id FROM chatui_documentpassage WHERE array_to_tsvector(string_to_array(terms, ' ')) @@ %s::tsquery LIMIT %s"


def _with_texts(rows: QuerySet[DocumentPassage]) -> Iterable[tuple[DocumentPassage, str, str]]:
    """Each row with its part's label and its text, which the database extracts: a part may have megabytes."""
    for row in rows.defer("terms"):
        part = DocumentPart.objects.filter(content=row.content_id, number=row.part)
        cut = part.annotate(cut=Substr("text", row.start + 1, row.length)).values_list("label", "cut").first()
        if cut is not None:
            yield row, *cut


def _weight(score: float, text: str, query: Query) -> float:
    """Repeated words increase the score, up to twice."""
    counted: Counter[str] = Counter(word.folded for word in search_words.words(text))
    often = sum(min(counted[wanted.folded], 4) for wanted in query.wanted)
    return score * (1 + often / (4 * len(query.wanted)))


def _prefix(content_id: int) -> str:
    """Ten letters and digits: a fixed length, so that no prefix is the beginning of another."""
    return f"{content_id:010x}"


MAX_DOCUMENTS = 200
"""The most documents searched, the newest first. Each word is looked up in each of them."""


def find_in_own_files(person_id: UUID, query: Query, most: int, seconds: float) -> list[tuple[Passage, datetime]]:
    """The passages with all of these words, best first, at most one per document, each with the time when its document was uploaded.

    Documents that are not indexed yet are indexed first, starting none after ``seconds``; the next search continues.
    """
    files = _sent_by(person_id) if query.wanted else {}
    if not files:
        return []
    _index_missing(files, seconds)
    named = {content: (file.pk, file.name) for content, file in files.items()}
    found: dict[UUID, tuple[Passage, datetime]] = {}
    uploaded = {file.pk: file.created_at for file in files.values()}
    scores = _scores(named, query.terms)
    for file_id, passage in _ranked(named, query, scores, _best_of_each(scores)):
        if query.spans(passage.text):
            found.setdefault(file_id, (passage, uploaded[file_id]))
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
        index(content)
