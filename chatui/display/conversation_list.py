"""Prepares conversations for the sidebar's list, the archive and the bin, and the events that keep these up to date in open pages.

A conversation's title and state, without messages, are prepared for its own page as well. The list comes page by page. The events about it
and about ratings are for all of a person's open pages. Conversations in the bin and the archive are not in the main list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from uuid import UUID

from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.translation import gettext

from chatui import wire
from chatui.env import environment
from chatui.models.conversation import Conversation, Folder
from chatui.models.user import User
from chatui.permissions import access
from chatui.wire import bus


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """A conversation's own data on a page.

    ``is_imported``: it was uploaded rather than written here, whatever its title is now. ``imported_from``: the product that exported it,
    if any. ``at``: the time of its last activity.
    """

    id: str
    title: str
    url: str
    effort: str
    is_imported: bool = False
    imported_from: str = ""
    at: datetime | None = None
    has_news: bool = False
    is_pinned: bool = False
    is_archived: bool = False
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class ConversationLink:
    """One conversation in the sidebar's list. ``is_running``: an answer is being written in it; ``waits``: it waits for the
    person to decide about a call; ``has_news``: one ended unseen."""

    id: str
    title: str
    updated_at: datetime
    url: str
    is_current: bool = False
    is_imported: bool = False
    is_running: bool = False
    waits: bool = False
    has_news: bool = False
    is_pinned: bool = False


_ANY_KEY = UUID(int=0)
"""Also the placeholder in elements that scripts copy, where they put the real key (``static/js/page/dom.js``)."""


def conversation_url(key: UUID) -> str:
    """The path of a conversation's page, as ``reverse`` returns it, which would search all patterns for each question."""
    return _around_key(get_script_prefix()).replace(str(_ANY_KEY), str(key))


@lru_cache(maxsize=8)
def _around_key(_prefix: str) -> str:
    """The path of the conversation ``_ANY_KEY``, under the prefix of this thread, which is a part of it."""
    return reverse("conversation", args=[_ANY_KEY])


def shown_conversation(row: Conversation) -> ShownConversation:
    """A conversation's own data for its page."""
    url = conversation_url(row.pk)
    return ShownConversation(
        str(row.pk),
        row.title if row.temporary_until is None else gettext("Temporary chat"),
        url,
        row.effort,
        is_imported=row.imported_at is not None,
        imported_from=row.get_imported_from_display(),
        at=row.active_at,
        has_news=row.has_news,
        is_pinned=row.is_pinned,
        is_archived=row.archived_at is not None,
        is_temporary=row.temporary_until is not None,
    )


def blank_conversation() -> ShownConversation:
    """A conversation that does not exist yet, for the top bar of the page that starts it."""
    return ShownConversation(str(_ANY_KEY), "", conversation_url(_ANY_KEY), "")


def blank_link() -> ConversationLink:
    """An entry of the list, for a conversation that is added while the page is open."""
    return ConversationLink(str(_ANY_KEY), "", timezone.now(), conversation_url(_ANY_KEY), is_imported=True)


def conversation_link(row: Conversation, current: UUID | None = None) -> ConversationLink:
    """A conversation as a line of the sidebar."""
    url = conversation_url(row.pk)
    return ConversationLink(
        str(row.pk),
        row.title,
        row.active_at,
        url,
        is_current=row.pk == current,
        is_imported=row.imported_at is not None,
        is_running=row.is_running,
        waits=row.waits,
        has_news=row.has_news,
        is_pinned=row.is_pinned,
    )


PAGE_SIZE = 60
"""How many conversations are on one page of the list."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PINNED = "p"
_CURSOR = re.compile(r"([0-9]{1,16})-([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ShownList:
    """A page of the list: pinned conversations first, then the latest first. ``next_cursor``: start of the next page; empty on the last.

    ``folder``: the id of the folder whose conversations it lists; empty for those in no folder.
    """

    links: Sequence[ConversationLink]
    next_cursor: str
    folder: str = ""


def shown_list(person: User, current: UUID | None = None, start: str = "", folder: UUID | None = None) -> ShownList:
    """A page of the person's conversations in one of their folders, or in none. ``current`` is the one that is open.

    Raises:
        NotFoundError: ``start`` is not a ``next_cursor``.
    """
    before = (start.startswith(_PINNED), *parse_cursor(start.removeprefix(_PINNED))) if start else None
    rows = access.own_conversations(person, PAGE_SIZE + 1, before, folder)
    next_cursor = _cursor(rows[PAGE_SIZE - 1]) if len(rows) > PAGE_SIZE else ""
    return ShownList([conversation_link(row, current) for row in rows[:PAGE_SIZE]], next_cursor, str(folder or ""))


def _cursor(row: Conversation) -> str:
    return f"{_PINNED if row.is_pinned else ''}{cursor(row.active_at, row.pk)}"


def cursor(at: datetime, key: UUID) -> str:
    """A cursor. It contains a time and a key rather than a position, so that changes in between neither repeat nor skip a conversation."""
    return f"{(at - _EPOCH) // timedelta(microseconds=1)}-{key.hex}"


def parse_cursor(start: str) -> tuple[datetime, UUID]:
    """The time and the key in a cursor.

    Raises:
        NotFoundError: it is not a cursor.
    """
    found = _CURSOR.fullmatch(start)
    if found is None:
        raise access.NotFoundError
    return _EPOCH + timedelta(microseconds=int(found[1])), UUID(found[2])


Message = dict[str, object]
"""Send it only to the group of the conversation's owner, ``bus.person``: a title is private."""


def tell(person_id: UUID, *messages: Message) -> None:
    """Send to all pages of the owner, from synchronous code."""
    for message in messages:
        bus.send_from_thread(bus.person(person_id), message)


def placed(row: Conversation) -> list[Message]:
    """The conversation was put into the list, a folder or the archive, or pinned, or it was restored from the bin to its old place; with
    the marks that it has there, since an answer may be running in it.
    """
    row.is_running, row.waits = access.marks_of(row)
    return all_placed([row])


_PLACED_AT_ONCE = 200
"""How many conversations a page puts into its list at once. It shows further ones when it is loaded again."""


def all_placed(rows: Iterable[Conversation]) -> list[Message]:
    """As ``placed``, for the latest of several conversations that have their marks (``access.own_chosen``)."""
    latest = sorted(rows, key=lambda row: row.active_at)[-_PLACED_AT_ONCE:]
    return _messages([event for row in latest for event in _place(row)])


def _place(row: Conversation) -> list[wire.Event]:
    if row.archived_at is not None:
        return [wire.Archived(str(row.pk))]
    return [_listed(row, is_running=row.is_running), *([wire.AnswerWaits(str(row.pk), True)] if row.waits else [])]


def listed(row: Conversation, *, is_running: bool = False) -> Message:
    """The conversation is new, got a question (and the answer ``is_running``), or was put into the list."""
    return _message(_listed(row, is_running=is_running))


def _listed(row: Conversation, *, is_running: bool) -> wire.Listed:
    url, is_imported = conversation_url(row.pk), row.imported_at is not None
    at, folder = row.active_at.isoformat(), str(row.folder_id or "")
    return wire.Listed(str(row.pk), url, row.title, at, is_imported, is_running, row.has_news, row.is_pinned, folder)


def answered(conversation_id: UUID, at: datetime, *, has_news: bool) -> Message:
    """An answer in the conversation has ended."""
    return _message(wire.Answered(str(conversation_id), at.isoformat(), has_news))


def waits(conversation_id: UUID, *, is_waiting: bool) -> Message:
    """An answer in the conversation began to wait for the person to decide about calls, or waits no longer."""
    return _message(wire.AnswerWaits(str(conversation_id), is_waiting))


def seen(conversation_id: UUID) -> Message:
    """The person has seen the news in the conversation."""
    return _message(wire.AnswerSeen(str(conversation_id)))


def unlisted(conversation_id: UUID) -> Message:
    """The conversation was deleted."""
    return _message(wire.Unlisted(str(conversation_id)))


def all_unlisted(keys: Iterable[UUID]) -> list[Message]:
    """These conversations were deleted."""
    return _messages([wire.Unlisted(str(key)) for key in keys])


def retitled(row: Conversation) -> Message:
    """The conversation has a new title."""
    return _message(wire.TitleChanged(str(row.pk), row.title))


def rated(conversation_id: UUID, message_id: UUID, verdict: str) -> Message:
    """The person has rated an answer, or removed the rating."""
    return _message(wire.Rated(str(conversation_id), str(message_id), verdict))


def folder_kept(row: Folder, before: str) -> Message:
    """The folder was created or renamed. ``before``: the id of the folder that follows it in the list."""
    return _message(wire.FolderKept(str(row.pk), row.name, before))


def folder_gone(row: Folder) -> Message:
    """The folder was deleted, and its conversations are back in the list."""
    return _message(wire.FolderGone(str(row.pk)))


_EVENTS_TOGETHER = 100


def _messages(events: Sequence[wire.Event]) -> list[Message]:
    return [_message(*events[start : start + _EVENTS_TOGETHER]) for start in range(0, len(events), _EVENTS_TOGETHER)]


def _message(*events: wire.Event) -> Message:
    return {"type": "person.events", "json": wire.encode(events)}


@dataclass(frozen=True, slots=True)
class PutAway:
    """A conversation in the archive or the bin. ``at``: when it was put there. In the bin, ``gone_at`` is the time from which it may be
    removed for good, and ``is_overdue`` whether that has come."""

    id: str
    title: str
    url: str
    at: datetime
    gone_at: datetime
    is_overdue: bool
    is_imported: bool
    has_news: bool


@dataclass(frozen=True, slots=True)
class ShownPutAway:
    """A page of the archive or the bin, the last put there first. ``next_cursor``: where the next page begins; empty on the last one.
    ``days``: how many days a conversation stays in the bin."""

    conversations: Sequence[PutAway]
    next_cursor: str
    days: int


def shown_archive(person: User, start: str = "") -> ShownPutAway:
    """A page of the person's archive.

    Raises:
        NotFoundError: ``start`` is not a ``next_cursor``.
    """
    return _put_away(access.own_archive(person, PAGE_SIZE + 1, parse_cursor(start) if start else None))


def shown_bin(person: User, start: str = "") -> ShownPutAway:
    """A page of the person's bin. Raises as ``shown_archive``."""
    return _put_away(access.own_bin(person, PAGE_SIZE + 1, parse_cursor(start) if start else None))


def _put_away(rows: Sequence[Conversation]) -> ShownPutAway:
    shown = [put_away(row) for row in rows[:PAGE_SIZE]]
    next_cursor = cursor(shown[-1].at, rows[PAGE_SIZE - 1].pk) if len(rows) > PAGE_SIZE else ""
    return ShownPutAway(shown, next_cursor, environment().bin_days)


def put_away(row: Conversation) -> PutAway:
    """A conversation of the archive or the bin."""
    at, is_imported = row.deleted_at or row.archived_at or timezone.now(), row.imported_at is not None
    gone_at = at + timedelta(days=environment().bin_days)
    is_overdue = gone_at <= timezone.now()
    return PutAway(str(row.pk), row.title, conversation_url(row.pk), at, gone_at, is_overdue, is_imported, row.has_news)
