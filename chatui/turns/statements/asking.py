"""Compiled SQL statements that start a turn: for the person, the conversation and the turn itself."""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID

from django.db.models import CharField, Count, DateTimeField, Exists, OuterRef, QuerySet, Subquery, UUIDField
from django.utils import timezone

from chatui.accounts import group_limits
from chatui.accounts.sessions import query_person
from chatui.database import clock
from chatui.database.compiled_statements import CompiledInsert, CompiledQuery, CompiledUpdate, Parameter, parameters
from chatui.models import ApiKey, Conversation, ProgramAnswer, Turn, User
from chatui.models.turn import TurnState
from chatui.permissions import access
from chatui.store import transcripts
from chatui.turns.leases import LEASE
from chatui.turns.requests.by_person import Ask

CONVERSATIONS = CompiledInsert(Conversation)
PROGRAM_ANSWERS = CompiledInsert(ProgramAnswer)
TURNS = CompiledInsert(Turn, lease_until=clock.after(LEASE))


def locked(person: User, ask: Ask) -> User | None:
    """The person's locked row, with the groups that have a limit; None if they are no longer signed in. ``twin``: the turn that the same
    request has already started. ``running``: how many answers are being written for them in other conversations."""
    values: dict[str, object] = {"person": person.pk, "client_id": ask.client_id, "conversation": ask.conversation}
    if ask.session:
        values |= {"person": ask.session.person.pk, "session": ask.session.key, "now": timezone.now()}
    query = _people(group_limits.names(), has_session=ask.session is not None, is_new=ask.conversation is None)
    return next(iter(query.models(**values)), None)


@lru_cache(maxsize=16)
def _people(groups: tuple[str, ...], *, has_session: bool, is_new: bool) -> CompiledQuery[User]:
    return CompiledQuery(lambda: _person(groups, has_session=has_session, is_new=is_new))


def _person(groups: tuple[str, ...], *, has_session: bool, is_new: bool) -> QuerySet[User]:
    person = Parameter("person", UUIDField())
    turns = Turn.objects.filter(asked_by=OuterRef("pk"))
    elsewhere = turns.filter(state=TurnState.RUNNING, lease_until__gte=clock.now()).order_by().values("asked_by")
    if not is_new:
        elsewhere = elsewhere.exclude(conversation=Parameter("conversation", UUIDField()))
    people = User.objects.filter(pk=person)
    if has_session:
        people = query_person(Parameter("session", CharField()), person, Parameter("now", DateTimeField()))
    twin = Subquery(turns.filter(client_id=Parameter("client_id", UUIDField())).values("pk")[:1])
    running = Subquery(elsewhere.annotate(count=Count("pk")).values("count"))
    found: QuerySet[User] = people.annotate(twin=twin, running=running, **group_limits.columns(groups))
    return found.select_for_update(of=("self",), no_key=True)


def own(person: User, key: object) -> Conversation:
    """The person's own conversation. ``last``: its last position. ``leaf`` and ``last_question``: those of their open branch.
    ``is_abandoned``: whether the process of a turn in it has died.

    Raises:
        NotFoundError: they have no such conversation.
    """
    row = access.own_conversation_by(_OWN, person, key)
    row.owner = person
    return row


def _own() -> QuerySet[Conversation]:
    owner = Parameter("owner", UUIDField())
    running = Turn.objects.filter(conversation=OuterRef("pk"), state=TurnState.RUNNING)
    return access.owned_by(owner, Parameter("key", UUIDField())).annotate(
        last=transcripts.last_position(OuterRef("pk")),
        leaf=transcripts.open_leaf(owner),
        last_question=transcripts.last_question(owner),
        is_abandoned=Exists(running.filter(lease_until__lt=clock.now())),
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


def was_asked(person: User, client_id: UUID) -> bool:
    """Whether this request of the person has already started a turn."""
    return bool(_ASKED.tuples(person=person.pk, client_id=client_id))


_ASKED = CompiledQuery(
    lambda: Turn.objects.filter(asked_by=Parameter("person", UUIDField()), client_id=Parameter("client_id", UUIDField())).values_list("pk")
)


def existing_key(key: UUID) -> UUID | None:
    """The id of a program's key; None if the key was deleted while the request was being handled."""
    return next((found for (found,) in _KEY.tuples(key=key)), None)


_KEY = CompiledQuery(lambda: ApiKey.objects.filter(pk=Parameter("key", UUIDField())).values_list("pk"))
