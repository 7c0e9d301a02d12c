"""The full-text search index of visible text. It accepts VisibleText only, so nothing hidden can be in it.

Every word is stored with a prefix that belongs to the owner of the conversation. A search therefore reads only that person's part of the
index: other people's text is not found, not counted, and does not slow a search down.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from chatui.database.connections import short_transaction
from chatui.database.statements import insert, new
from chatui.models.conversation import Conversation
from chatui.models.message import Message, SearchEntry
from chatui.models.user import User
from chatui.store.search_words import INNER, Query, Term, terms
from renderer.gate import VisibleText

ENTRY_BYTES = 400_000
"""How much of one message is indexed, in bytes of words: PostgreSQL's limit is 1 MB with what it adds. Later words are not found."""

MERGED_PAGES = 500
"""Pages of SQLite's index that are rewritten in one transaction."""

_NEWEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One match: a message or the title."""

    id: int
    """Grows with time."""
    conversation_id: UUID
    message_id: UUID | None
    """None for the title."""


def add(messages: Iterable[tuple[Message, VisibleText]]) -> None:
    """Index visible messages, one row each, in the caller's transaction."""
    insert([found for message, text in messages if (found := entry(message, text))])


def entry(message: Message, text: VisibleText) -> SearchEntry | None:
    """The row of a visible message, not yet stored; None if it has no word."""
    found = terms_of(message.conversation, text)
    return new(SearchEntry, conversation_id=message.conversation_id, message_id=message.pk, terms=found) if found else None


def remove(messages: Iterable[UUID]) -> None:
    """Take messages that are no longer visible out of the index."""
    SearchEntry.objects.filter(message__in=list(messages)).delete()


def put_title(conversation: Conversation, title: VisibleText) -> None:
    """Index a title that its owner wrote, replacing an earlier one. A title that is the beginning of a message is found by that message."""
    SearchEntry.objects.update_or_create(conversation=conversation, message=None, defaults={"terms": terms_of(conversation, title)})


def put_first_title(conversation: Conversation, title: VisibleText) -> None:
    """Index a title that a model wrote, in one statement. An existing title by its owner stays."""
    entry = SearchEntry(conversation=conversation, message=None, terms=terms_of(conversation, title))
    SearchEntry.objects.bulk_create([entry], ignore_conflicts=True)


def find(person: User, query: Query, limit: int, before: int | None = None) -> list[Entry]:
    """At most ``limit`` rows of this person's conversations that contain every word, newest first, and older than row ``before``.

    Deleted conversations are not found. Empty for a query without words.
    """
    if not query.wanted:
        return []
    asked = expression(((_prefix(person.pk), term) for term in query.terms), needs_all=True)
    sql, owner = (_FIND_SQLITE, person.pk.hex) if connection.vendor == "sqlite" else (_FIND_POSTGRESQL, person.pk)
    with connection.cursor() as cursor:
        cursor.execute(sql, [asked, before or _NEWEST, owner, limit])
        return [Entry(number, _uuid(conversation), _uuid(message) if message else None) for number, conversation, message in cursor]


def tidy() -> None:
    """Make SQLite rewrite its index without the words of deleted rows, which it otherwise overwrites at some later time.

    In steps, as its documentation recommends: a whole index at once would block every other writer.
    """
    if connection.vendor != "sqlite":
        return
    for statement in _MERGES:
        changes = _merge(statement, -MERGED_PAGES)
        while changes > 1:
            changes = _merge(statement, MERGED_PAGES)


_MERGES = tuple(f"INSERT INTO {name}({name}, rank) VALUES ('merge', %s)" for name in ("chatui_words", "chatui_passages"))  # noqa: S608
"""For both indexes: messages, and passages of documents."""


def _merge(statement: str, pages: int) -> int:
    """Merge about ``pages`` pages; a negative number first includes all parts of the index. A result below 2: nothing was left to do."""
    with short_transaction(), connection.cursor() as cursor:
        before = cursor.execute("SELECT total_changes()").fetchone()[0]
        cursor.execute(statement, [pages])
        return int(cursor.execute("SELECT total_changes()").fetchone()[0]) - int(before)


_FIND_SQLITE = (
    "SELECT entry.id, entry.conversation_id, entry.message_id FROM chatui_words "
    "CROSS JOIN chatui_searchentry AS entry ON entry.id = chatui_words.rowid "
    "CROSS JOIN chatui_conversation AS conversation ON conversation.id = entry.conversation_id "
    "WHERE chatui_words MATCH %s AND chatui_words.rowid < %s AND conversation.owner_id = %s AND conversation.deleted_at IS NULL "
    "ORDER BY chatui_words.rowid DESC LIMIT %s"
)
# MATERIALIZED: otherwise the planner may scan from the newest row to the oldest for a word that occurs in a single row.
_FIND_POSTGRESQL = (
    "WITH entry AS MATERIALIZED (SELECT id, conversation_id, message_id FROM chatui_searchentry "
    "WHERE array_to_tsvector(string_to_array(terms, ' ')) @@ %s::tsquery AND id < %s) "
    "SELECT entry.id, entry.conversation_id, entry.message_id FROM entry "
    "JOIN chatui_conversation AS conversation ON conversation.id = entry.conversation_id "
    "WHERE conversation.owner_id = %s AND conversation.deleted_at IS NULL "
    "ORDER BY entry.id DESC LIMIT %s"
)


def terms_of(conversation: Conversation, text: VisibleText) -> str:
    """The words of a text of this conversation as a row holds them."""
    prefix, found = _prefix(conversation.owner_id), terms(with_whole_words(text), ENTRY_BYTES)
    return prefix + f" {prefix}".join(found) if found else ""


def with_whole_words(text: str) -> str:
    """The text, and below it the words of which a part is emphasised: people see ``东**京**`` as one word, and search for it as one."""
    if "*" not in text:
        return text
    return "\n".join((text, *(match.replace("*", "") for match in _PARTLY_EMPHASISED.findall(text))))


_PARTLY_EMPHASISED = re.compile(r"(?<!\w)\w++(?:\*{1,3}+\w++)++")


def _prefix(owner: UUID) -> str:
    """Ten letters and digits. If two people share them, the owner's column still distinguishes them."""
    return hashlib.sha256(owner.bytes).hexdigest()[:10]


def expression(prefixed: Iterable[tuple[str, Term]], *, needs_all: bool) -> str:
    """A query in the database's own language, for all or any of these terms, each with its prefix.

    A term consists of letters, digits and marks, which have no special meaning in either language, quoted or not.
    """
    is_sqlite = connection.vendor == "sqlite"
    either, quote, more = (" OR ", '"', "*") if is_sqlite else (" | ", "'", ":*")
    words = (" AND " if is_sqlite else " & ") if needs_all else either

    def of(prefix: str, term: Term) -> str:
        whole = f"{quote}{prefix}{term.text}{quote}{more if term.is_prefix else ''}"
        if not term.inner:
            return whole
        is_cut = len(term.inner) < len(term.text)
        return f"({whole}{either}{quote}{prefix}{INNER}{term.inner}{quote}{'' if is_cut else more})"

    return words.join(of(prefix, term) for prefix, term in prefixed)


def _uuid(value: UUID | str) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)
