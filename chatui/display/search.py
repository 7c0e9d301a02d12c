"""Searches a person's own conversations, or one of them for a text. Only text that the person may see is ever searched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import passages, search_index, search_words, titles, transcripts
from chatui.store.passages import Passage
from chatui.store.search_index import Entry
from chatui.store.search_words import Query
from chatui.store.titles import own_words
from chatui.store.transcripts import BranchText
from renderer.frames import Frame, Role
from renderer.gate import Audience, ExcerptPiece, VisibleText, excerpt, show
from renderer.markup.words import words_near, words_of

QUERY_CHARS = 200
WORDS = "words"
"""The parameter of an address that says which words were searched for. The page marks them, and shows the first in the message."""
PAGE = 20
MAX_DOCUMENTS = 5
_ROUNDS = 5
_SECONDS = 1.0
"""How long a search may spend on indexing documents that no search has used before."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result."""

    url: str
    title: tuple[ExcerptPiece, ...]
    excerpt: tuple[ExcerptPiece, ...]
    writer: str
    """``you``, ``answer`` or ``document``. A match in a title has neither writer nor excerpt."""
    at: datetime
    is_archived: bool
    """Whether its conversation is in the archive."""


@dataclass(frozen=True, slots=True)
class Results:
    """A page of results, newest first."""

    hits: tuple[Hit, ...]
    before: int | None
    """Where the next page begins; None on the last one."""
    is_empty_query: bool
    documents: tuple[Hit, ...] = ()
    """Passages in the person's documents, only on the first page, and only if the person has turned that on."""


def search(person: User, text: str, before: int | None = None) -> Results:
    """All visible messages, and titles that are not just the start of a message, that contain every word of ``text``.

    If several results of one conversation look the same, such as the answers of two attempts, a page shows only the newest.
    """
    query = search_words.query(text[:QUERY_CHARS])
    found = _in_messages(person, query, before)
    if not person.finds_documents or before is not None:
        return found
    passages_found = passages.find_in_own_files(person.pk, query, MAX_DOCUMENTS, _SECONDS)
    return replace(found, documents=tuple(_in_document(query, passage, at) for passage, at in passages_found))


def _in_document(query: Query, passage: Passage, at: datetime) -> Hit:
    title = own_words(f"{passage.name}, {passage.label}" if passage.label else passage.name)
    text = own_words(passage.text)
    return Hit(passage.url, excerpt(title, []), excerpt(text, query.spans(text)), "document", at, is_archived=False)


def _in_messages(person: User, query: Query, before: int | None) -> Results:
    hits: list[Hit] = []
    seen: set[object] = set()
    for _ in range(_ROUNDS):
        entries = search_index.find(person, query, PAGE, before)
        for entry, hit in zip(entries, _hits(person, query, entries), strict=True):
            before = entry.id
            words = tuple(piece.text for piece in hit.excerpt or hit.title) if hit else ()
            appearance = (entry.conversation_id, hit.writer, words) if hit else None
            if hit is not None and appearance not in seen:
                hits.append(hit)
            seen.add(appearance)
            if len(hits) == PAGE:
                return Results(tuple(hits), before, is_empty_query=False)
        if len(entries) < PAGE:
            before = None
            break
    return Results(tuple(hits), before, is_empty_query=not query.wanted)


def _hits(person: User, query: Query, entries: Sequence[Entry]) -> list[Hit | None]:
    """The result for each entry; None if the text does not contain the words after all, or the row was deleted meanwhile."""
    messages = access.own_messages(person, {entry.message_id for entry in entries if entry.message_id})
    titled = access.own_conversations_of(person, {entry.conversation_id for entry in entries if not entry.message_id})
    return [
        _in_message(query, messages.get(entry.message_id)) if entry.message_id else _in_title(query, titled.get(entry.conversation_id))
        for entry in entries
    ]


def _in_title(query: Query, row: Conversation | None) -> Hit | None:
    if row is None or not (spans := query.spans(title := titles.title_text(row))):
        return None
    return Hit(reverse("conversation", args=[row.pk]), excerpt(title, spans), (), "", row.active_at, row.archived_at is not None)


def _in_message(query: Query, message: Message | None) -> Hit | None:
    if message is None:
        return None
    text, spans = _words(query, transcripts.frame_of(message))
    if not spans:
        return None
    row = message.conversation
    title = excerpt(titles.title_text(row), [])
    writer = "you" if message.role == Role.USER else "answer"
    url = f"{reverse('message', args=[row.pk, message.pk])}?{urlencode({WORDS: query.typed}, errors='replace')}"
    return Hit(url, title, excerpt(text, spans), writer, message.created_at, row.archived_at is not None)


def _words(query: Query, frame: Frame) -> tuple[VisibleText, list[tuple[int, int]]]:
    """The words of a message around those that were searched for, and where these are; no places if people see them nowhere in it.

    The index, and the text as it was written, also have words that no page shows, such as the address behind a link.
    """
    written = show(frame, Audience.END_USER)
    places = query.spans(search_index.with_whole_words(written), ahead=0)
    if not places:
        return written, []
    near = words_near(frame.header, written, places[0][0])
    if spans := query.spans(near):
        return near, spans
    whole = words_of(frame.header, written)
    return whole, query.spans(whole)


def matching_messages(row: Conversation, person: User, text: str) -> list[UUID]:
    """The visible messages of the person's open branch in which people see ``text``, ignoring case, in order.

    ``row`` must come from ``access`` for this person.
    """
    wanted = text[:QUERY_CHARS].strip()
    if not wanted:
        return []
    pattern, parts = re.compile(re.escape(wanted), re.IGNORECASE), [part.casefold() for part in _PART.findall(wanted)]

    def has_it(message: BranchText) -> bool:
        # Reading a frame and its Markdown takes long, so that is done only where the parts of the text are.
        known = message.text.translate(_INSIDE_WORDS).casefold()
        if not all(part in known for part in parts):
            return False
        frame = message.frame
        return pattern.search(words_of(frame.header, show(frame, Audience.END_USER))) is not None

    return [message.key for message in _shown_on_branch(row, person) if has_it(message)]


_PART = re.compile(r"[^\W_]+")
_INSIDE_WORDS = str.maketrans("", "", "*`~")
"""Marks of Markdown that may stand inside what people see as one word."""


def messages_with_words(row: Conversation, person: User, text: str) -> list[UUID]:
    """The same for the words of a search in all conversations: the messages in which people see every word."""
    query = search_words.query(text[:QUERY_CHARS])
    return [message.key for message in _shown_on_branch(row, person) if query.wanted and _words(query, message.frame)[1]]


def _shown_on_branch(row: Conversation, person: User) -> list[BranchText]:
    """Summaries of the thinking are left out: they are folded into an answer, so a result could not link to them."""
    leaf = transcripts.active_leaf(row, person)
    return transcripts.visible_texts(row, leaf) if leaf else []
