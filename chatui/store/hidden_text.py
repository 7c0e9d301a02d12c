"""Removes hidden text from stored messages, when a turn ends or after some days (``CHATUI_HIDDEN_DAYS``), and hides what proves to be such.

The message keeps its place, author, sender and recipient, so that conversations can continue, and a debug view shows that there was text.
It becomes a frame for debugging (specification section 6): hidden from people as before, and no longer sent to models. Text from operators
and people stays: instructions, questions, documents, and the notes of compacted conversations. So do web pages and files from tools, which
have their own tables, and visible text such as summaries, except those of earlier versions, which people no longer see.

A cut answer is hidden if its continuation shows that it was reasoning. Some servers leave out the tag that opens the reasoning. Its
beginning then looks like an answer, and if it is cut there, it is stored as one. The closing tag comes only in the continuation. Not so
behind reasoning that came in a place of its own: then the sign speaks of the continuation alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from chatui.codes import ProductCode
from chatui.database import faults
from chatui.database.connections import short_transaction
from chatui.database.faults import Refused
from chatui.env import environment
from chatui.models.keys import first_key_at
from chatui.models.message import Author, Message
from chatui.models.tools import ToolApproval
from chatui.models.turn import Turn, TurnPiece, TurnState
from chatui.store import continuation, search_index, transcripts
from renderer.errors import OpenChatMLError
from renderer.frame_kinds import BROKEN, SUMMARY_NAME
from renderer.frames import Frame, Header, Intent, Role, Terminator
from renderer.ocml import document
from renderer.tokens import Token

REMOVED = "[This text was not kept.]"
"""The body of an emptied frame. A call stays a call, so it has ``REMOVED_CALL``."""
REMOVED_CALL = '{"note":"This text was not kept."}'

BATCH_ROWS = 50
"""Messages, or turns, in one transaction: a tool's reply, or a request, may be megabytes long."""
_FIRST = UUID(int=0)
MIN_DAYS = 1
"""A call may wait for its reply between two turns, so it is stored at least this long, even if reasoning is removed sooner."""


def is_emptied(frame: Frame) -> bool:
    is_place = frame.header.intent == Intent.DEBUG or frame.header == BROKEN
    return is_place and frame.body in (REMOVED, REMOVED_CALL)


def forget_reasoning(turn_id: UUID) -> None:
    """Remove the reasoning at the end of a turn, in its transaction, if the operator wants none stored.

    Calls and replies stay until ``forget_old``.
    """
    if environment().keeps_reasoning:
        return
    # Reasoning that a program sent along is stored before its question, and does not belong to the turn.
    carried = Q(turn=None, author=Author.IMPORT, conversation__turns=turn_id, conversation__turns__program_answer__isnull=False)
    thoughts = _hidden().filter(Q(turn=turn_id) | carried).filter(Q(role=Role.ASSISTANT) | Q(author=Author.MODEL))
    _empty(thoughts.exclude(terminator=Terminator.CALL).distinct())


def forget_old(now: datetime | None = None, refused: Refused | None = None) -> str:
    """Remove all hidden text that has been stored longer than the operator wants, in short transactions.

    Returns a report for the operator, empty if there is no limit. What cannot be removed does not stop the rest.
    """
    before = too_old(now)
    if before is None:
        return ""
    refused, last = refused or Refused(), _FIRST
    while turns := _older(Turn.objects.exclude(state=TurnState.RUNNING), before, last):
        _for_all_or_each(turns, _forget_of_turns, "hidden text of turn", refused)
        last = turns[-1]
    count, last = 0, _FIRST
    while messages := _older(_hidden().exclude(turn__state=TurnState.RUNNING), before, last):
        count += _for_all_or_each(messages, _forget_of_messages, "hidden text of message", refused)
        last = messages[-1]
    return f"took hidden text out of {count} messages stored before {before:%Y-%m-%d %H:%M}"


def _for_all_or_each(keys: Sequence[UUID], forget: Callable[[Sequence[UUID]], int], what: str, refused: Refused) -> int:
    """``forget`` all in one transaction, or if the database refuses that, each in its own. Returns the sum of what that returned."""
    try:
        with short_transaction():
            return forget(keys)
    except DatabaseError as error:
        if faults.is_outage(error):
            raise
    count = 0
    for key in keys:
        with refused.one(f"{what} {key}"), short_transaction():
            count += forget([key])
    return count


def _forget_of_turns(keys: Sequence[UUID]) -> int:
    # Stored requests repeat hidden text, and servers' error messages may.
    repeating = Turn.objects.filter(Q(request__isnull=False) | ~Q(error_detail=""), pk__in=keys)
    repeating.update(request=None, error_detail="")
    TurnPiece.objects.filter(turn__in=keys).delete()
    empty_cards(keys)
    return len(keys)


def _forget_of_messages(keys: Sequence[UUID]) -> int:
    return _empty(Message.objects.filter(pk__in=keys))


def empty_cards(turns: Sequence[UUID] | QuerySet[Turn]) -> None:
    """Remove the text of the cards of tools below the answers of these turns. What was decided stays, for staff."""
    ToolApproval.objects.filter(turn__in=turns).exclude(arguments="").update(arguments="", receiver="", answer="")


def too_old(now: datetime | None = None) -> datetime | None:
    """Hidden text from before this time is removed; None if there is no limit."""
    days = environment().hidden_days
    return None if days < 0 else (now or timezone.now()) - timedelta(days=max(days, MIN_DAYS))


def _older(rows: QuerySet[Any], before: datetime, last: UUID) -> list[UUID]:
    """The next keys, in order, which is chronological."""
    return list(rows.filter(pk__gt=last, pk__lt=first_key_at(before)).order_by("pk").values_list("pk", flat=True)[:BATCH_ROWS])


def _hidden() -> QuerySet[Message]:
    """Hidden messages that still have their text, except operators' and people's.

    The query lists the exceptions, so that new kinds are removed by default.
    """
    by_people = Q(role__in=(Role.SYSTEM, Role.DEVELOPER, Role.USER)) & ~Q(author=Author.MODEL)
    old_summaries = Q(name=SUMMARY_NAME, activities__isnull=True) & ~Q(author=Author.IMPORT)
    return Message.objects.filter(Q(is_visible=False) | old_summaries).exclude(by_people).exclude(_EMPTIED)


def _ends(start: str) -> Q:
    replacements = ((REMOVED, Token.END), (REMOVED, Token.RETURN), (REMOVED_CALL, Token.CALL))
    return reduce(or_, (Q(text__endswith=f"{start}{body}{terminator}") for body, terminator in replacements))


# If another frame quotes this text, the token before it has an additional "<".
_EMPTIED = Q(intent=Intent.DEBUG, raw=None) & _ends(Token.MESSAGE) & ~_ends(f"<{Token.MESSAGE}")


def _empty(messages: QuerySet[Message]) -> int:
    return transcripts.replace_frames((message, _emptied(message)) for message in messages.only("text"))


def _emptied(message: Message) -> Frame:
    """The frame without its text. Header values for the kind of text are removed, too, because they no longer apply."""
    try:
        frame = transcripts.frame_of(message)
    except OpenChatMLError:
        return Frame(BROKEN, REMOVED)
    header = frame.header
    reduced = Header(header.role, header.channel, header.recipient, header.call_id, header.name, Intent.DEBUG)
    emptied = document.writable(Frame(reduced, REMOVED_CALL, frame.terminator))
    return emptied if emptied.terminator is Terminator.CALL else replace(emptied, body=REMOVED)


def hide_cut_of(frames: Iterable[Frame], key: UUID, cut: Frame) -> bool:
    """Hide the cut answer ``key`` if one of these frames was shown as its continuation, and then withdrawn. Returns whether it is."""
    is_withdrawn = bool(cut.body) and any(frame.header == BROKEN and frame.body.startswith(cut.body) for frame in frames)
    return is_withdrawn and hide_cut(key)


def hide_cut(key: UUID) -> bool:
    """Hide a cut answer, and those that it continued itself, in storage, search, copies and share links. An answer that follows withdrawn
    text of its own turn stays: the sign had come before it. So does one whose reasoning came apart; then nothing is hidden (False)."""
    with transaction.atomic():
        found = Message.objects.select_related("turn__continued_message__turn")
        message = found.filter(pk=key).first()
        if continuation.came_apart(message):
            return False
        while message is not None and continuation.is_answer(message) and not _follows_sign(message):
            transcripts.replace_frames([(message, Frame(BROKEN, transcripts.frame_of(message).body))])
            Message.objects.filter(pk=message.pk).update(error_code=ProductCode.WITHHELD)
            search_index.remove([message.pk])
            turn = message.turn
            if turn is not None:
                forget_reasoning(turn.pk)
            message = found.filter(pk=turn.continued_message_id).first() if turn and turn.continued_message_id else None
    return True


def _follows_sign(message: Message) -> bool:
    before = Message.objects.filter(turn=message.turn_id, position__lt=message.position, error_code=ProductCode.WITHHELD)
    return message.turn_id is not None and before.exists()
