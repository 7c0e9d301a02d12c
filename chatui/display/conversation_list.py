"""Prepares conversations for the sidebar's list, the archive and the bin, and the events that keep these up to date in open pages.

A conversation's title and state, without messages, are prepared for its own page as well. The list comes page by page. The events about it
and about ratings are for all of a person's open pages. Conversations in the bin and the archive are not in the main list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from chatui import wire
from chatui.env import environment
from chatui.models.conversation import Conversation, ImportSource
from chatui.models.user import User
from chatui.permissions import access
from chatui.permissions.access import ListedConversation
from chatui.wire import bus


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """A conversation on its own page, and in the archive, the bin, and where several are chosen."""

    id: str
    title: str
    url: str
    at: datetime
    """The time of its last activity; in the archive and the bin, when it was put there."""
    effort: str = ""
    is_imported: bool = False
    """Whether it was uploaded rather than written here, whatever its title is now."""
    is_copy: bool = False
    """Whether it is a copy of a shared conversation; then it is not ``is_imported``."""
    imported_from: str = ""
    """The product that exported it, if any."""
    is_running: bool = False
    """Whether an answer is being written in it."""
    has_news: bool = False
    """Whether an answer ended that its owner has not seen."""
    is_pinned: bool = False
    is_archived: bool = False
    folder_name: str = ""
    """The name of its folder, only where several are chosen."""
    gone_at: datetime | None = None
    """In the bin, the time from which it may be removed for good."""
    is_overdue: bool = False
    """Whether that time has come."""


@dataclass(frozen=True, slots=True)
class SidebarLine:
    """A conversation as a line of the sidebar's list."""

    id: str
    title: str
    url: str
    updated_at: str
    """The time of its last activity, as the events write it."""
    options: str
    """The name of the button that opens its menu."""
    is_current: bool
    """Whether it is the one that is open."""
    is_pinned: bool
    has_marks: bool
    """Whether it has one or more of the marks that follow."""
    is_imported: bool
    is_copy: bool
    is_running: bool
    waits: bool
    """Whether its answer waits for the person to decide about a call. The others are as in ``ShownConversation``."""
    has_news: bool


def address(key: UUID) -> str:
    """The path of a conversation's page. A list has sixty of them, and looking a path up by its name costs more than a line of the list."""
    return f"/c/{key}/"


_BLANK_KEY = UUID(int=0)
"""The placeholder in elements that scripts copy, where they put the real key (``static/js/page/dom.js``)."""


def _is_copy(row: Conversation | ListedConversation) -> bool:
    """Whether it is a copy of a shared conversation."""
    return row.imported_from == ImportSource.SHARED


def _is_imported(row: Conversation | ListedConversation) -> bool:
    """Whether it was uploaded. A copy was not, though it has the time of an import, too."""
    return row.imported_at is not None and not _is_copy(row)


def shown_conversation(row: Conversation) -> ShownConversation:
    return ShownConversation(
        str(row.pk),
        row.title if row.temporary_until is None else gettext("Temporary chat"),
        address(row.pk),
        row.active_at,
        row.effort,
        is_imported=_is_imported(row),
        is_copy=_is_copy(row),
        imported_from=row.get_imported_from_display() if row.imported_from and not _is_copy(row) else "",
        is_running=row.is_running,
        has_news=row.has_news,
        is_pinned=row.is_pinned,
        is_archived=row.archived_at is not None,
    )


def blank_conversation() -> ShownConversation:
    """A conversation that does not exist yet, for the top bar of the page that starts it."""
    return ShownConversation(str(_BLANK_KEY), "", address(_BLANK_KEY), timezone.now())


def blank_list() -> ShownLines:
    """A list of one conversation that does not exist yet, whose line scripts copy. It is imported and a copy: they take the marks off."""
    blank = ListedConversation(
        _BLANK_KEY, "", timezone.now(), timezone.now(), "", has_news=False, is_pinned=False, is_running=False, waits=False
    )
    return ShownLines([replace(line, is_copy=True) for line in _lines([blank], None)], "")


PAGE_SIZE = 60
"""How many conversations are on one page of the list."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PINNED = "p"
_CURSOR = re.compile(r"([0-9]{1,16})-([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ShownList:
    """A page of the archive, the bin, or of conversations to choose from."""

    conversations: Sequence[ShownConversation] = field(repr=False)
    next_cursor: str
    """Where the next page begins; empty on the last."""
    days: int = 0
    """How many days a conversation stays in the bin."""


@dataclass(frozen=True, slots=True)
class ShownLines:
    """A page of the sidebar's list."""

    conversations: Sequence[SidebarLine] = field(repr=False)
    next_cursor: str
    """Where the next page begins; empty on the last."""
    folder: str = ""
    """The id of the folder whose conversations it lists; empty for those in no folder."""


def shown_list(person: User, current: UUID | None = None, start: str = "", folder: UUID | None = None) -> ShownLines:
    """A page of the person's conversations in one of their folders, or in none: pinned ones first, then the latest first."""
    before = (start.startswith(_PINNED), *_parse_cursor(start.removeprefix(_PINNED))) if start else None
    rows = access.own_conversations(person, PAGE_SIZE + 1, before, folder)
    end = rows[PAGE_SIZE - 1] if len(rows) > PAGE_SIZE else None
    cursor = (_PINNED if end.is_pinned else "") + _cursor(end.active_at, end.pk) if end else ""
    return ShownLines(_lines(rows[:PAGE_SIZE], current), cursor, str(folder or ""))


def _lines(rows: Iterable[ListedConversation], current: UUID | None) -> list[SidebarLine]:
    options = gettext("Options for “%(title)s”")
    return [
        SidebarLine(
            str(row.pk),
            row.title,
            address(row.pk),
            row.active_at.isoformat(),
            options % {"title": row.title},
            is_current=row.pk == current,
            is_pinned=row.is_pinned,
            has_marks=row.imported_at is not None or row.is_running or row.waits or row.has_news,
            is_imported=_is_imported(row),
            is_copy=_is_copy(row),
            is_running=row.is_running,
            waits=row.waits,
            has_news=row.has_news,
        )
        for row in rows
    ]


def latest_of(rows: QuerySet[Conversation], column: str, start: str, show: Callable[[Conversation], ShownConversation]) -> ShownList:
    """A page of these conversations from the cursor ``start`` on, the one with the latest time in that column first."""
    return _page(access.latest(rows, column, PAGE_SIZE + 1, _parse_cursor(start) if start else None), show)


def _page(rows: Sequence[Conversation], show: Callable[[Conversation], ShownConversation]) -> ShownList:
    """The first PAGE_SIZE of these rows; there is a next page if there are more."""
    shown = [show(row) for row in rows[:PAGE_SIZE]]
    return ShownList(shown, _cursor(shown[-1].at, rows[PAGE_SIZE - 1].pk) if len(rows) > PAGE_SIZE else "")


def _cursor(at: datetime, key: UUID) -> str:
    """A cursor. It contains a time and a key rather than a position, so that changes in between neither repeat nor skip a conversation."""
    return f"{(at - _EPOCH) // timedelta(microseconds=1)}-{key.hex}"


def _parse_cursor(start: str) -> tuple[datetime, UUID]:
    found = access.existing(_CURSOR.fullmatch(start))
    return _EPOCH + timedelta(microseconds=int(found[1])), UUID(found[2])


def tell(person_id: UUID, *events: wire.Event) -> None:
    """Send to all pages of the owner, from synchronous code. Only to them: a title is private."""
    for start in range(0, len(events), _EVENTS_TOGETHER):
        bus.send_from_thread(bus.person(person_id), message(*events[start : start + _EVENTS_TOGETHER]))


def message(*events: wire.Event) -> dict[str, object]:
    """For the group of the conversations' owner, ``bus.person``, and for no other: a title is private."""
    return {"type": "person.events", "json": wire.encode(events)}


_EVENTS_TOGETHER = 100


def placed(row: Conversation) -> list[wire.Event]:
    """The event that a conversation was put into the list, a folder or the archive, was pinned, or was restored from the bin; with the
    marks that it has there, since an answer may be running in it."""
    row.is_running, row.waits = access.marks_of(row)
    return all_placed([row])


_PLACED_AT_ONCE = 200
"""How many conversations a page puts into its list at once. It shows further ones when it is loaded again."""


def all_placed(rows: Iterable[Conversation]) -> list[wire.Event]:
    """As ``placed``, for the latest of several conversations that have their marks (``access.own_chosen``)."""
    latest = sorted(rows, key=lambda row: row.active_at)[-_PLACED_AT_ONCE:]
    return [event for row in latest for event in _place(row)]


def _place(row: Conversation) -> list[wire.Event]:
    if row.archived_at is not None:
        return [wire.Archived(str(row.pk))]
    return [listed(row, is_running=row.is_running), *([wire.AnswerWaits(str(row.pk), True)] if row.waits else [])]


def listed(row: Conversation, *, is_running: bool = False) -> wire.Listed:
    """The conversation is new, got a question (and the answer ``is_running``), or was put into the list."""
    return wire.Listed(
        str(row.pk),
        address(row.pk),
        row.title,
        row.active_at.isoformat(),
        is_imported=_is_imported(row),
        is_copy=_is_copy(row),
        is_running=is_running,
        has_news=row.has_news,
        is_pinned=row.is_pinned,
        folder=str(row.folder_id or ""),
    )


def shown_archive(person: User, start: str = "") -> ShownList:
    """A page of the person's archive, the last put there first."""
    return latest_of(access.own_archive(person), "archived_at", start, shown_outside_list)


def shown_bin(person: User, start: str = "") -> ShownList:
    """A page of the person's bin."""
    return replace(latest_of(access.own_bin(person), "deleted_at", start, shown_outside_list), days=environment().bin_days)


def shown_outside_list(row: Conversation) -> ShownConversation:
    at = row.deleted_at or row.archived_at or timezone.now()
    gone_at = at + timedelta(days=environment().bin_days)
    return replace(shown_conversation(row), at=at, gone_at=gone_at, is_overdue=gone_at <= timezone.now())
