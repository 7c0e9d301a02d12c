"""Decides who may read and change conversations, and who may see hidden channels.

Every list of conversations, search and export begins with one base query, so that none includes temporary conversations. "Not found" and
"not yours" look the same. A request for hidden channels without the permission is recorded before it is refused, and the refusal looks the
same whether the conversation exists or not.

Temporary and permanent conversations are kept apart, because each kind has actions that the other must refuse.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, NoReturn, TypeVar
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import Combinable

from chatui.audit_log.record import RequestCause, Visitor
from chatui.codes import ProductCode
from chatui.database import connections
from chatui.database.statements import read
from chatui.models.conversation import Conversation, Folder
from chatui.models.debug_requests import DebugRequest
from chatui.models.message import Message
from chatui.models.tools import Decision
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import attempts, debug_views
from chatui.tools import catalogue
from chatui.tools.tool import Tool
from renderer.errors import Code

_Row = TypeVar("_Row")


def listed(owner: User) -> QuerySet[Conversation]:
    """The person's conversations except temporary ones, including those in folders, the archive and the bin."""
    return Conversation.objects.filter(owner=owner, temporary_until=None)


def is_listed(row: Conversation) -> bool:
    """Whether a conversation is neither temporary nor in the bin."""
    return row.deleted_at is None and row.temporary_until is None


class NotFoundError(Exception):
    """The object does not exist, or belongs to somebody else."""

    code = ProductCode.NOT_FOUND


def existing(row: _Row | None) -> _Row:
    """This row, such as the first of a query. Raises NotFoundError if there is none."""
    if row is None:
        raise NotFoundError
    return row


class HiddenViewRefusedError(Exception):
    """A person requested hidden channels without permission; the attempt has been recorded."""

    code = Code.PERM_VISIBILITY


class OptInNeededError(Exception):
    """This person may see the hidden channels, but has no open debug view of this conversation."""

    code = ProductCode.OPT_IN


def as_person(user: object) -> User | None:
    """A request's ``user`` as a User; None if nobody is signed in."""
    return user if isinstance(user, User) else None


def own_conversation(user: User | None, conversation_id: object, *, deleted: bool = False) -> Conversation:
    """The person's own conversation with that id. ``deleted``: look in the bin instead. Raises NotFoundError if there is none, or nobody is
    signed in."""
    return _own(user, conversation_id, _OWN + ("deleted_at IS NOT NULL" if deleted else "deleted_at IS NULL"))[0]


def own_opened(user: User | None, conversation_id: object, *also: str) -> tuple[Conversation, bool, tuple[Any, ...]]:
    """As ``own_conversation``, whether a turn in it is late: its lease has expired, so that its process may have died, and the values of
    the SQL expressions ``also``."""
    is_late = f"{_HAS_LATE} {connections.after_sql(timedelta())})"
    row, (is_late, *rest) = _own(user, conversation_id, _OWN + "deleted_at IS NULL", is_late, *also)
    return row, bool(is_late), tuple(rest)


def _own(user: User | None, key: object, where: str, *also: str) -> tuple[Conversation, tuple[Any, ...]]:
    if user is None or not user.is_active:
        raise NotFoundError
    return existing(next(iter(read(Conversation, where, user.pk, key_of(key), also=also)), None))


_HAS_LATE = "EXISTS (SELECT 1 FROM chatui_turn WHERE conversation_id = chatui_conversation.id AND state = 'running' AND lease_until <"
# An unfinished import is also in the bin, and nobody may restore it.
_OWN = "owner_id = %s AND id = %s AND unfinished_until IS NULL AND "


class ListedConversation(NamedTuple):
    """What a list shows of a conversation; a row of ``own_conversations``."""

    pk: UUID
    title: str
    active_at: datetime
    imported_at: datetime | None
    imported_from: str
    has_news: bool
    is_pinned: bool
    is_running: bool
    waits: bool


def own_conversations(
    user: User, limit: int, before: tuple[bool, datetime, UUID] | None = None, folder: UUID | None = None
) -> list[ListedConversation]:
    """The person's conversations in a folder, or in none, except archived ones; the pinned ones first, then the latest first.

    ``before`` (whether it is pinned, time, and key): return only those that come after that one. Each conversation has ``is_running``:
    whether an answer is being written in it, and ``waits``: whether that answer waits for the person to decide about a call.
    """
    values: list[object] = [user.pk] if folder is None else [user.pk, folder]
    where = _LISTED + ("folder_id IS NULL" if folder is None else "folder_id = %s")
    if before is not None:
        is_pinned, at, key = before
        # As an index can use it: SQLite does not use one for "NOT is_pinned".
        rest = " AND is_pinned = FALSE AND active_at <= %s AND (active_at < %s OR id < %s)"
        where += " AND (NOT is_pinned OR active_at < %s OR active_at = %s AND id < %s)" if is_pinned else rest
        values += [at, at, key]
    where += " ORDER BY is_pinned DESC, active_at DESC, id DESC LIMIT %s"
    waiting = f"turn_id = chatui_turn.id AND decision = 'waiting' AND lapses_at > {connections.after_sql(timedelta())}"
    marks = (f"{_RUNNING})", f"{_RUNNING} AND EXISTS (SELECT 1 FROM chatui_toolapproval WHERE {waiting}))")  # noqa: S608 - all are ours
    rows = read(Conversation, where, *values, limit, also=marks, without=_NOT_LISTED)
    return [
        ListedConversation(
            row.pk, row.title, row.active_at, row.imported_at, row.imported_from, row.has_news, row.is_pinned, *map(bool, own)
        )
        for row, own in rows
    ]


_LISTED = "owner_id = %s AND temporary_until IS NULL AND deleted_at IS NULL AND archived_at IS NULL AND "
# The marks as ``_marks`` has them for statements of Django's.
_RUNNING = "EXISTS (SELECT 1 FROM chatui_turn WHERE conversation_id = chatui_conversation.id AND state = 'running'"
_NOT_LISTED = tuple({each.attname for each in Conversation._meta.concrete_fields} - {"id", *ListedConversation._fields})


def marks_of(conversation: Conversation) -> tuple[bool, bool]:
    """``is_running`` and ``waits``, see ``own_conversations``, of one conversation."""
    marks = Conversation.objects.filter(pk=conversation.pk).values_list(*_marks(conversation.pk).values()).first()
    return marks or (False, False)


def _marks(conversation: OuterRef | UUID) -> dict[str, Exists]:
    running = Turn.objects.filter(conversation=conversation, state=TurnState.RUNNING)
    return {"is_running": Exists(running), "waits": Exists(_waiting().filter(conversation=conversation))}


def _waiting() -> QuerySet[Turn]:
    """The running turns with a call that waits for the person's decision. Nothing of the call is read."""
    return Turn.objects.filter(state=TurnState.RUNNING, approvals__decision=Decision.WAITING, approvals__lapses_at__gt=connections.now())


def asks_collections(conversation: Conversation) -> bool:
    """Whether a conversation may ask any: chosen ones, or the files of its folder or its assistant (``permissions.collections``). False for
    most, which so need no statement."""
    return conversation.has_collections or conversation.folder_id is not None or conversation.assistant_version_id is not None


def own_folder(user: User, folder_id: object, *, locked: bool = False) -> Folder:
    """The person's own folder with that id. ``locked``: lock it until the transaction ends. Raises NotFoundError if there is none."""
    folders = Folder.objects.select_for_update(no_key=True) if locked else Folder.objects
    return existing(folders.filter(owner=user, pk=key_of(folder_id)).first())


def own_folders(user: User, *, with_instructions: bool = False) -> list[Folder]:
    """The person's folders by name. Each has ``has_news``: a conversation in it has an unseen answer; ``waits``: one waits for them."""
    folders = Folder.objects.filter(owner=user).defer(*() if with_instructions else ("instructions",))
    if not folders.exists():
        return []
    unseen = listed(user).filter(has_news=True, deleted_at=None, archived_at=None, folder=OuterRef("pk"))
    there = {"conversation__deleted_at": None, "conversation__archived_at": None, "conversation__folder": OuterRef("pk")}
    marks = {"has_news": Exists(unseen), "waits": Exists(_waiting().filter(**there))}
    return sorted(folders.annotate(**marks), key=lambda folder: (folder.name.casefold(), folder.pk))


def own_archive(user: User) -> QuerySet[Conversation]:
    """The person's archived conversations."""
    return listed(user).filter(deleted_at=None, archived_at__isnull=False)


def own_bin(user: User) -> QuerySet[Conversation]:
    """The person's conversations in the bin, without unfinished imports and conversations that are being erased."""
    return listed(user).filter(deleted_at__isnull=False, unfinished_until=None)


def latest(rows: QuerySet[Conversation], column: str, limit: int, before: tuple[datetime, UUID] | None = None) -> list[Conversation]:
    """Of these conversations, those with the latest time in that column. ``before``: only those that come after this time and key."""
    if before is not None:
        at, key = before
        rows = rows.filter(Q(**{f"{column}__lt": at}) | Q(pk__lt=key), **{f"{column}__lte": at})
    return list(rows.order_by(f"-{column}", "-pk")[:limit])


def own_chosen(user: User, keys: Iterable[UUID] | None = None, *, deleted: bool = False) -> QuerySet[Conversation]:
    """The person's conversations with these keys (None: all) outside the bin, or in it if ``deleted``. Keys of others select nothing.

    Each has the marks of ``own_conversations``. Temporary ones, unfinished imports and what is being erased are not included.
    """
    mine = listed(user).filter(deleted_at__isnull=not deleted, unfinished_until=None).annotate(**_marks(OuterRef("pk")))
    return mine if keys is None else mine.filter(pk__in=list(keys))


def idle(rows: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """The conversations in which no answer is being written."""
    return rows.filter(~_marks(OuterRef("pk"))["is_running"])


def all_own_conversations(user: User, keys: Iterable[UUID] | None = None, *, deleted: bool = False) -> Iterator[Conversation]:
    """The conversations of ``own_chosen``, the oldest first. Each is fetched separately, so no cursor stays open."""
    rows = own_chosen(user, keys, deleted=deleted)
    for key in list(rows.order_by("created_at").values_list("pk", flat=True)):
        if (row := rows.filter(pk=key).first()) is not None:
            yield row


def imported(user: User, key: str) -> Conversation | None:
    """The conversation that the person imported with that key, if it is not in the bin."""
    return listed(user).filter(deleted_at=None, import_key=key).first()


def own_import_keys(user: User) -> set[str]:
    """The digests of the conversations that the person imported from exports, except those in the bin."""
    imported = listed(user).filter(deleted_at=None).exclude(import_key="")
    return set(imported.values_list("import_key", flat=True))


def own_messages(user: User, keys: Iterable[UUID]) -> dict[UUID, Message]:
    """The messages with these keys that are visible, in the person's own conversations, and not in the bin; by key."""
    # Ownership is checked on the rows: with more conditions in the query, SQLite would scan everything that the person ever wrote.
    found = Message.objects.filter(is_visible=True).select_related("conversation").in_bulk(list(keys))
    return {key: row for key, row in found.items() if row.conversation.owner_id == user.pk and is_listed(row.conversation)}


def own_conversations_of(user: User, keys: Iterable[UUID]) -> dict[UUID, Conversation]:
    """The conversations with these keys that are the person's own and not in the bin, by key."""
    return listed(user).filter(deleted_at=None).in_bulk(list(keys))


def message_of(conversation: Conversation, message_id: object, **annotations: Combinable) -> Message:
    """The message with that id in the conversation. ``annotations``: values to compute in the same statement.

    Raises NotFoundError if there is none, also for an id from another conversation.
    """
    return existing(Message.objects.annotate(**annotations).filter(pk=key_of(message_id), conversation=conversation).first())


def turn_of(conversation: Conversation, turn_id: object, **annotations: Combinable) -> Turn:
    """The turn with that id in the conversation. ``annotations``: values to compute in the same statement. Raises NotFoundError."""
    turns = Turn.objects.annotate(**annotations).select_related("question", "continued_message").defer("request")
    return existing(turns.filter(pk=key_of(turn_id), conversation=conversation).first())


def is_staff_with(user: User | None, *permissions: str) -> bool:
    """Whether this is somebody on the staff with all of these permissions. Neither staff status nor a permission opens anything alone."""
    return user is not None and user.is_active and user.is_staff and user.has_perms(permissions)


def required(user: User | None, may: Callable[[User | None], bool]) -> User:
    """This person, if they ``may``. Raises NotFoundError for everybody else, so that the page seems not to exist."""
    if user is None or not may(user):
        raise NotFoundError
    return user


def can_see_hidden(user: User | None) -> bool:
    """Whether the debug view exists for this person at all. Only decides what pages offer: each access is checked again."""
    return is_staff_with(user, "chatui.view_hidden_channels")


def can_view_any(user: User | None) -> bool:
    """Whether this person may open other people's conversations (in the debug view)."""
    return is_staff_with(user, "chatui.view_any_conversation")


def can_debug_others(user: User | None) -> bool:
    """Whether there is a debug view of other people's conversations for this person. Each access is checked again."""
    return can_see_hidden(user) and can_view_any(user)


def debuggable_conversations(user: User | None) -> QuerySet[Conversation]:
    """Everybody's conversations whose debug view this person may open, with their owners and without their titles; none if they may open
    only their own."""
    rows = Conversation.objects.filter(deleted_at=None).select_related("owner").only("owner", "owner__username", "created_at", "active_at")
    return rows if can_debug_others(user) else rows.none()


def may_view_hidden(user: User | None, conversation: Conversation) -> bool:
    """Whether this person may see the conversation's hidden channels, once they have opened its debug view."""
    return can_see_hidden(user) and (conversation.owner == user or can_view_any(user))


def can_read_audit(user: User | None) -> bool:
    """Whether this person may read the audit log. It is a separate permission: neither staff status nor the debug view includes it."""
    return is_staff_with(user, "chatui.view_auditevent")


def can_see_failures(user: User | None) -> bool:
    """Whether this person may read why answers failed: staff who may see the model servers."""
    return is_staff_with(user, "chatui.view_storedbackend")


def usable_tools(person: User, *, is_demo: bool) -> dict[str, Tool]:
    """The tools that a model may call for this person, by name. ``is_demo``: the built-in demo answers. At most one statement,
    and one more where there are tool servers."""
    groups = person.groups.values_list("name", flat=True) if catalogue.depends_on_groups(is_demo=is_demo) else ()
    return catalogue.offered_to(set(groups), is_demo=is_demo)


def debuggable_conversation(visitor: Visitor, conversation_id: object, *, action: str) -> Conversation:
    """A conversation whose hidden channels this visitor may see once they have opened its debug view.

    Raises:
        HiddenViewRefusedError: they lack the permission; recorded as ``E-PERM-VISIBILITY``.
        NotFoundError: they have the permission, but there is no such conversation.
    """
    try:
        return _debuggable(visitor.user, conversation_id)
    except HiddenViewRefusedError:
        refuse(visitor, conversation_id, action)


def view_hidden(visitor: Visitor, conversation_id: object, *, action: str) -> Conversation:
    """Grant one access to hidden channels: check the permission and the open debug view, and record the access before anything is shown.

    Raises:
        HiddenViewRefusedError: as ``debuggable_conversation``; also if the browser prefetches or embeds the page, so that nobody looks at
            it.
        NotFoundError: as ``debuggable_conversation``.
        OptInNeededError: they have the permission, but no open debug view of this conversation. This does not count as an attempt.
        DatabaseError: the access could not be recorded, so it is refused.
    """
    conversation = debuggable_conversation(visitor, conversation_id, action=action)
    request = open_request(visitor, conversation)
    if not request:
        raise OptInNeededError
    if visitor.cause in (RequestCause.PREFETCH, RequestCause.EMBEDDED):
        refuse(visitor, conversation.pk, action)
    debug_views.record_access(visitor, request, action)
    return conversation


def recheck_hidden(visitor: Visitor, conversation_id: UUID, *, newly_shown: str = "") -> Conversation:
    """Check that an open debug stream may continue. ``newly_shown``: what it also shows from now on, such as another turn; recorded.

    Raises as ``view_hidden``, but records no attempt: it is the product that checks again, and the person may have lost the permission.
    """
    conversation = _debuggable(visitor.user, conversation_id)
    request = open_request(visitor, conversation)
    if not request:
        raise OptInNeededError
    if newly_shown:
        debug_views.record_access(visitor, request, newly_shown)
    return conversation


def _debuggable(user: User | None, conversation_id: object) -> Conversation:
    if not can_see_hidden(user):
        raise HiddenViewRefusedError
    try:
        conversation = existing(Conversation.objects.select_related("owner").filter(pk=key_of(conversation_id), deleted_at=None).first())
    except NotFoundError:
        # To people without permission for other people's conversations, "does not exist" must look like "not yours".
        if not can_view_any(user):
            raise HiddenViewRefusedError from None
        raise
    if not may_view_hidden(user, conversation):
        raise HiddenViewRefusedError
    return conversation


def open_request(visitor: Visitor, conversation: Conversation) -> DebugRequest | None:
    """The visitor's open debug view of this conversation, if any. Pending, declined and expired requests do not count."""
    return debug_requests_of(visitor, conversation).filter(expires_at__gt=connections.now()).order_by("-expires_at").first()


def debug_requests_of(visitor: Visitor, conversation: Conversation) -> QuerySet[DebugRequest]:
    """The visitor's debug requests for this conversation that are not closed: open, pending, or expired."""
    return DebugRequest.objects.filter(conversation=conversation, person=visitor.user, closed_at=None)


def refuse(visitor: Visitor, conversation_id: object, action: str) -> NoReturn:
    """Record the attempt, then raise HiddenViewRefusedError."""
    key = key_in(conversation_id)
    conversation = Conversation.objects.select_related("owner").filter(pk=key).first() if key else None
    if conversation and visitor.via == "socket" and _lost_view(visitor, conversation):
        # The page was open when the permission was revoked, and its socket has reconnected by itself.
        visitor = replace(visitor, cause=RequestCause.RECONNECT)
    if conversation and visitor.user and not may_view_hidden(visitor.user, conversation):
        # Changes by the product have closed it (``close_unpermitted``); others may not have.
        debug_views.close(DebugRequest.objects.filter(conversation=conversation, person=visitor.user, closed_at=None))
    attempts.record_attempt(visitor, conversation or key, action)
    raise HiddenViewRefusedError


def _lost_view(visitor: Visitor, conversation: Conversation) -> bool:
    """Whether the visitor's debug view of this conversation would still be open."""
    requests = DebugRequest.objects.filter(conversation=conversation, person=visitor.user)
    return requests.filter(expires_at__gt=connections.now()).exists()


def visible_message(visitor: Visitor, conversation_id: object, message_id: object, *, action: str) -> Message:
    """A visible message of the visitor's own conversation. Raises NotFoundError for any other message, as ``refusal_of_message`` says."""
    with contextlib.suppress(NotFoundError):
        message = message_of(own_conversation(visitor.user, conversation_id), message_id)
        if message.is_visible and not message.is_old_summary:
            return message
    raise refusal_of_message(visitor, message_id, action)


def message_on_branch(visitor: Visitor, conversation_id: object, message_id: object, *, action: str, **annotations: Combinable) -> Message:
    """Any message of the visitor's own conversation, to open the branch that it is on: pages name an answer by its first message, which may
    be hidden. Nothing of it is shown. Raises NotFoundError for any other message, as ``refusal_of_message`` says."""
    with contextlib.suppress(NotFoundError):
        return message_of(own_conversation(visitor.user, conversation_id), message_id, **annotations)
    raise refusal_of_message(visitor, message_id, action)


def refusal_of_message(visitor: Visitor, message_id: object, action: str) -> NotFoundError:
    """The error for a message that is refused. Records an attempt if it is a hidden one, in anybody's conversation, that the visitor may
    not see: not in a transaction that the error rolls back, which would take the record with it."""
    key = key_in(message_id)
    hidden = Message.objects.select_related("conversation__owner").filter(pk=key, is_visible=False).first() if key else None
    if hidden is not None and not may_view_hidden(visitor.user, hidden.conversation):
        attempts.record_attempt(visitor, hidden.conversation, action)
    return NotFoundError()


def person_of(visitor: Visitor) -> User:
    """The visitor's account. Raises NotFoundError if nobody is signed in, so that the page seems not to exist."""
    return existing(visitor.user)


def key_of(value: object) -> UUID:
    """As ``key_in``. Raises NotFoundError for anything that is no key."""
    return existing(key_in(value))


def key_in(value: object) -> UUID | None:
    """The key that an address or a form names; None for anything that is no key."""
    try:
        return UUID(str(value))
    except ValueError:
        return None


def own_permanent(user: User | None, conversation_id: object) -> Conversation:
    """The person's own permanent conversation, which can be listed, renamed, moved, shared and exported. Raises NotFoundError if there is
    none with that id."""
    row = own_conversation(user, conversation_id)
    if row.temporary_until is not None:
        raise NotFoundError
    return row


def own_temporary(user: User | None, conversation_id: object) -> Conversation:
    """The person's own temporary conversation. Raises NotFoundError if there is none with that id."""
    row = own_conversation(user, conversation_id)
    if row.temporary_until is None:
        raise NotFoundError
    return row
