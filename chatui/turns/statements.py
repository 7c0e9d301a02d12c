"""Compiled SQL statements that start a turn, for the person, the conversation and the turn itself, store its frames and end it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from django.db.models import CharField, Count, DateTimeField, Exists, OuterRef, QuerySet, Subquery, UUIDField
from django.utils import timezone

from chatui.accounts import groups as accounts_groups
from chatui.accounts.sessions import query_person
from chatui.database import connections
from chatui.database.compiled_statements import CompiledInsert, CompiledQuery, CompiledUpdate, Parameter, parameters
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.programs import ProgramAnswer
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from chatui.permissions import access
from chatui.store import temporary, transcripts
from chatui.turns.asks import Ask
from chatui.turns.leases import LEASE

CONVERSATIONS = CompiledInsert(Conversation)
PROGRAM_ANSWERS = CompiledInsert(ProgramAnswer)
TURNS = CompiledInsert(Turn, lease_until=connections.after(LEASE))


class LockedPerson(NamedTuple):
    """A person's locked row, with the groups that have a limit. ``has_asked``: the same request has already started a turn. ``running``:
    how many answers are being written for them in other conversations."""

    person: User
    has_asked: bool
    running: int


def locked(person: User, ask: Ask) -> LockedPerson | None:
    """The person, if they are still signed in."""
    values: dict[str, object] = {"person": person.pk, "client_id": ask.client_id, "conversation": ask.conversation}
    if ask.session:
        values |= {"person": ask.session.person.pk, "session": ask.session.key, "now": timezone.now()}
    query = _people(accounts_groups.names(), has_session=ask.session is not None, is_new=ask.conversation is None)
    found = next(iter(query.models(**values)), None)
    return None if found is None else LockedPerson(found, vars(found)["twin"] is not None, vars(found)["running"] or 0)


@lru_cache(maxsize=16)
def _people(groups: tuple[str, ...], *, has_session: bool, is_new: bool) -> CompiledQuery[User]:
    return CompiledQuery(lambda: _person(groups, has_session=has_session, is_new=is_new))


def _person(groups: tuple[str, ...], *, has_session: bool, is_new: bool) -> QuerySet[User]:
    person = Parameter("person", UUIDField())
    turns = Turn.objects.filter(asked_by=OuterRef("pk"))
    elsewhere = turns.filter(state=TurnState.RUNNING, lease_until__gte=connections.now()).order_by().values("asked_by")
    if not is_new:
        elsewhere = elsewhere.exclude(conversation=Parameter("conversation", UUIDField()))
    people = User.objects.filter(pk=person)
    if has_session:
        people = query_person(Parameter("session", CharField()), person, Parameter("now", DateTimeField()))
    twin = Subquery(turns.filter(client_id=Parameter("client_id", UUIDField())).values("pk")[:1])
    running = Subquery(elsewhere.annotate(count=Count("pk")).values("count"))
    found: QuerySet[User] = people.annotate(twin=twin, running=running, **accounts_groups.columns(groups))
    return found.select_for_update(of=("self",), no_key=True)


@dataclass(frozen=True, slots=True)
class Tree:
    """A conversation, and the end of its open branch: the keys of its last message and last question, and the next free position.
    ``is_abandoned``: whether the process of a turn in it has died."""

    conversation: Conversation
    leaf_id: UUID | None = None
    last_question: UUID | None = None
    position: int = 0
    is_abandoned: bool = False


def own(person: User, key: object) -> Tree:
    """The person's own conversation.

    Raises:
        NotFoundError: they have no such conversation.
    """
    row = access.own_conversation_by(_OWN, person, key)
    row.owner, found = person, vars(row)
    position = 0 if found["last"] is None else found["last"] + 1
    return Tree(row, found["leaf"], found["last_question"], position, found["is_abandoned"])


def _own() -> QuerySet[Conversation]:
    owner = Parameter("owner", UUIDField())
    running = Turn.objects.filter(conversation=OuterRef("pk"), state=TurnState.RUNNING)
    return access.owned_by(owner, Parameter("key", UUIDField())).annotate(
        last=transcripts.last_position(OuterRef("pk")),
        leaf=transcripts.open_leaf(owner),
        last_question=transcripts.last_question(owner),
        is_abandoned=Exists(running.filter(lease_until__lt=connections.now())),
    )


_OWN = CompiledQuery(_own)


def touch(conversation: Conversation, *changed: str) -> None:
    """Store the columns that change with each question, and those named in ``changed``.

    Raises:
        NotFoundError: the conversation was erased meanwhile.
    """
    names = ("active_at", "has_news", "archived_at", *changed)
    if not _touching(names).run(key=conversation.pk, **{name: getattr(conversation, name) for name in names}):
        raise access.NotFoundError


@lru_cache(maxsize=4)
def _touching(names: tuple[str, ...]) -> CompiledUpdate:
    return CompiledUpdate(lambda: (Conversation.objects.filter(pk=Parameter("key", UUIDField())), parameters(Conversation, names)))


def mine(key: UUID | Parameter, owner: str | Parameter) -> QuerySet[Turn]:
    """The turn, if it is running in the process ``owner``."""
    return Turn.objects.filter(pk=key, state=TurnState.RUNNING, lease_owner=owner)


def place_of(turn: UUID, owner: str, message: UUID) -> tuple[int, bool] | None:
    """Lock the turn if it is still the owner's. Returns the position of its conversation's last message, and whether ``message`` is already
    stored; None if it is no longer the owner's."""
    return next(((last, is_kept) for last, is_kept in _PLACE.tuples(turn=turn, owner=owner, message=message)), None)


def has_ended(turn: UUID, state: str, at: datetime | None) -> bool:
    """Whether the turn has ended, in this state and at this moment."""
    return at is not None and Turn.objects.filter(pk=turn, state=state, finished_at=at).exists()


def _place() -> QuerySet[Turn, tuple[object, ...]]:
    locked = _mine().select_for_update(of=("self",), no_key=True)
    is_kept = Exists(Message.objects.filter(pk=Parameter("message", UUIDField())))
    return locked.annotate(last=transcripts.last_position(OuterRef("conversation")), is_kept=is_kept).values_list("last", "is_kept")


_PLACE = CompiledQuery(_place)


def end(turn: UUID, owner: str, columns: Mapping[str, object]) -> bool:
    """Store these columns of the turn if it is still the owner's. Returns whether it was."""
    return bool(_ended(tuple(columns)).run(turn=turn, owner=owner, **columns))


@lru_cache(maxsize=4)
def _ended(names: tuple[str, ...]) -> CompiledUpdate:
    return CompiledUpdate(lambda: (_mine(), parameters(Turn, names)))


def answered(conversation: UUID, now: datetime, columns: Mapping[str, object]) -> None:
    """Store these columns of the conversation in which an answer has just ended."""
    _answered(tuple(columns)).run(key=conversation, **temporary.moments_after_answer(now), **columns)


@lru_cache(maxsize=16)
def _answered(names: tuple[str, ...]) -> CompiledUpdate:
    rows = Conversation.objects.filter(pk=Parameter("key", UUIDField()))
    return CompiledUpdate(lambda: (rows, {**parameters(Conversation, names), "temporary_until": temporary.after_answer()}))


def _mine() -> QuerySet[Turn]:
    return mine(Parameter("turn", UUIDField()), Parameter("owner", CharField()))
