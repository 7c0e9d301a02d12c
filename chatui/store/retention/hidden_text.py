"""Takes hidden text out of stored messages, when a turn ends or after some days (``CHATUI_HIDDEN_DAYS``).

The message stays with its place, its author and who spoke to whom, so that conversations go on, and a debug view says that there was
something. It becomes a frame for debugging (specification section 6): hidden from people as before, and sent to no model again.

What operators and people have said stays: instructions, questions and documents. So do web pages and files that tools have brought, which
have tables of their own, and what people see anyway, such as summaries.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from chatui.env import environment
from chatui.models import Message, Turn
from chatui.models.keys import first_key_at
from chatui.models.turn import TurnState
from chatui.store import transcripts
from chatui.store.short_transactions import short_transaction
from renderer.frames import Frame, Header, Intent, Role, Terminator
from renderer.ocml import document as ocml

NOT_KEPT = "[This text was not kept.]"

_BATCH = 200
_FIRST = UUID(int=0)
_LEAST_DAYS = 1
"""A call may wait for its reply between two turns: until then it stays, however soon reasoning goes."""


def forget_reasoning(turn_id: UUID) -> None:
    """At the end of a turn, in its transaction: take away what the model has thought, and the request that may repeat it, where the
    operator wants none kept. Calls and replies stay until ``forget_old``."""
    if environment().hidden_days != 0:
        return
    thoughts = _hidden().filter(turn=turn_id, role=Role.ASSISTANT).exclude(terminator=Terminator.CALL)
    _empty(list(thoughts.only("text")))
    _without_request(Turn.objects.filter(pk=turn_id))


def forget_old(now: datetime | None = None) -> str:
    """Take away all hidden text that has been stored for longer than the operator wants, in short transactions. What was done, for the
    operator; empty where everything is kept."""
    before = too_old(now)
    if before is None:
        return ""
    ended = Turn.objects.exclude(state=TurnState.RUNNING).filter(pk__lt=first_key_at(before))
    with short_transaction():
        _without_request(ended)
    messages, last = 0, _FIRST
    while batch := _older(before, last):
        with short_transaction():
            messages += _empty(batch)
        last = batch[-1].pk
    return f"took hidden text out of {messages} messages stored before {before:%Y-%m-%d %H:%M}"


def too_old(now: datetime | None = None) -> datetime | None:
    """Hidden text that was stored before then is taken away; None where everything is kept."""
    days = environment().hidden_days
    return None if days < 0 else (now or timezone.now()) - timedelta(days=max(days, _LEAST_DAYS))


def _older(before: datetime, last: UUID) -> list[Message]:
    """The next messages in the order of their keys, which is that of time."""
    rows = _hidden().filter(pk__gt=last, pk__lt=first_key_at(before)).exclude(turn__state=TurnState.RUNNING)
    return list(rows.order_by("pk").only("text")[:_BATCH])


def _hidden() -> QuerySet[Message]:
    """What is hidden and holds words, but for what operators and people have said: a rule that names what stays."""
    said = Q(role__in=(Role.SYSTEM, Role.DEVELOPER)) | Q(role=Role.USER, channel="")
    return Message.objects.filter(is_visible=False).exclude(said).exclude(text__contains=NOT_KEPT)


def _empty(messages: list[Message]) -> int:
    for message in messages:
        message.text, message.raw, message.intent = ocml.dump_frame(_emptied(transcripts.frame_of(message))), None, Intent.DEBUG
    return Message.objects.bulk_update(messages, ["text", "raw", "intent"]) if messages else 0


def _emptied(frame: Frame) -> Frame:
    """The frame without its words. Values that say what kind of text it was go, too: it is none of that kind any more."""
    header = frame.header
    kept = Header(header.role, header.channel, header.recipient, header.call_id, header.name, Intent.DEBUG)
    return ocml.writable(Frame(kept, NOT_KEPT, frame.terminator))


def _without_request(turns: QuerySet[Turn]) -> None:
    """What was sent to the model repeats hidden text, and what a server said of a failure may."""
    turns.filter(Q(request__isnull=False) | ~Q(error_detail="")).update(request=None, error_detail="")
