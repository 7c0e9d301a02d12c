"""Compiled SQL statements that store a turn's frames and end it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from django.db.models import CharField, Exists, OuterRef, QuerySet, UUIDField

from chatui.database.compiled_statements import CompiledQuery, CompiledUpdate, Parameter, parameters
from chatui.models import Conversation, Message, Turn
from chatui.models.turn import TurnState
from chatui.store import transcripts
from chatui.store.temporary import lifetime


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
    _answered(tuple(columns)).run(key=conversation, **lifetime.moments_after_answer(now), **columns)


@lru_cache(maxsize=16)
def _answered(names: tuple[str, ...]) -> CompiledUpdate:
    rows = Conversation.objects.filter(pk=Parameter("key", UUIDField()))
    return CompiledUpdate(lambda: (rows, {**parameters(Conversation, names), "temporary_until": lifetime.after_answer()}))


def _mine() -> QuerySet[Turn]:
    return mine(Parameter("turn", UUIDField()), Parameter("owner", CharField()))
