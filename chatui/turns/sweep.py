"""Closes turns whose process has died. Once their lease has expired, they end as interrupted, and what was shown is stored. If the whole
answer was already stored, they end as completed. Queued turns that another process may launch are left to it (``turns.slots``).

Leases use the database's clock. A process never sweeps its own running turns, and after an outage it sweeps nothing until every owner has
had time to renew its leases.

Every process looks for such turns every ten seconds, as does every request that opens the conversation.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils import timezone

from chatui import wire
from chatui.codes import Cause, ProductCode
from chatui.database import connections
from chatui.database.faults import outages
from chatui.display import conversation_list
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.turn import LATEST_FIRST, Turn, TurnState
from chatui.store import continuation, hidden_text, transcripts
from chatui.turns import ledger, slot_waits
from chatui.turns.calls import claims
from chatui.turns.leases import frames_in_pieces, leases, lines_in
from chatui.turns.stages import TextBeforeCut
from chatui.usage import counting, settling
from renderer.activities import frame as summary_frame
from renderer.errors import Code
from renderer.frame_kinds import is_answer
from renderer.frames import Frame, Terminator

log = logging.getLogger(__name__)

GRACE_SECONDS = 30.0
"""How long owners have to renew their leases after the database was unreachable."""


def interrupt_abandoned(conversation: Conversation | None = None) -> list[Turn]:
    """Close every abandoned turn, of one conversation or of all, except those that may be launched again. Returns the turns that were
    closed."""
    return [turn for turn in abandoned(conversation) if interrupt(turn)]


def last_turn(conversation: Conversation) -> Turn | None:
    """The last turn of a conversation, with its state. If it is abandoned, it is closed first; otherwise this takes one statement."""
    turns = conversation.turns.order_by(*LATEST_FIRST).only("state", "lease_owner", "conversation")
    is_late = Q(state=TurnState.RUNNING, lease_until__lt=connections.now())
    last = turns.annotate(is_late=ExpressionWrapper(is_late, BooleanField())).first()
    if last is None or not last.is_late or not interrupt_abandoned(conversation):
        return last
    return turns.filter(pk=last.pk).first()


def abandoned(conversation: Conversation | None = None) -> list[Turn]:
    """The turns that may be closed, of one conversation or of all, the oldest first: queued ones keep their order. None within
    GRACE_SECONDS of an outage."""
    if outages.seconds_since() < GRACE_SECONDS:
        return []
    found = list(_abandoned(conversation).select_related("conversation").defer("request").order_by("started_at"))
    return found if found and connections.seconds_since_start() >= GRACE_SECONDS else []


def _abandoned(conversation: Conversation | None) -> QuerySet[Turn]:
    turns = Turn.objects.filter(state=TurnState.RUNNING, lease_until__lt=connections.now()).exclude(pk__in=leases.keys())
    return turns if conversation is None else turns.filter(conversation=conversation)


def interrupt(turn: Turn) -> TurnState | None:
    """Close an abandoned turn. Returns the state in which it ended; None if it is no longer abandoned, or may be launched again."""
    with transaction.atomic():
        # Read it again under a lock: the owner may have renewed its lease or ended it, or another sweep may have closed it.
        locked = _abandoned(None).select_for_update(of=("self",)).select_related("conversation", "question", "asked_by")
        abandoned = locked.filter(pk=turn.pk).first()
        if abandoned is None or (abandoned.is_queued and slot_waits.adoptable().filter(pk=abandoned.pk).exists()):
            return None
        charge = counting.charge_of(abandoned)
        _keep_pieces(abandoned)
        abandoned.pieces.all().delete()
        claims.reply_to_abandoned(abandoned)
        hidden_text.forget_reasoning(abandoned.pk)
        state, code = _end_of(abandoned)
        columns = {"state": state, "error_code": code, "error_cause": Cause.PROCESS_ENDED.value if code else "", "is_queued": False}
        Turn.objects.filter(pk=turn.pk).update(**columns, finished_at=timezone.now())
        settling.settle(settling.attribution_of(abandoned), state, [charge])
        conversation, has_news = abandoned.conversation, ledger.is_news(state)
        if has_news:
            conversation.has_news = True
            conversation.save(update_fields=["has_news"])
    conversation_list.tell(conversation.owner_id, wire.Answered(str(conversation.pk), conversation.active_at.isoformat(), has_news))
    return state


def _end_of(turn: Turn) -> tuple[TurnState, str]:
    """The state in which an abandoned turn ends, and its error code."""
    last = turn.messages.order_by("position").last()
    if last is not None and continuation.is_answer(last) and last.is_complete and last.terminator == Terminator.RETURN:
        # The model had finished and the whole answer is stored, so that only the end of the turn is missing.
        return TurnState.COMPLETED, ""
    if not turn.is_queued or last is not None:
        return TurnState.INTERRUPTED, Code.STREAM_TRUNCATED
    # No answer had begun, so none was cut off.
    return (TurnState.STOPPED, "") if turn.stop_requested else (TurnState.INTERRUPTED, ProductCode.SERVER_BUSY)


def _keep_pieces(turn: Turn) -> None:
    """Store as messages the frames that the process had stored only in pieces. Only the last one was still open. The lines about the work,
    which people saw, stand before the answer."""
    pieces = frames_in_pieces(turn)
    written = [(key, frame) for key, frame in pieces if lines_in(frame) is None]
    stored = Message.objects.in_bulk([key for key, _ in written])
    # A turn that continues a cut answer writes that answer anew: its frame counts once it has more than the cut one.
    cut = continuation.cut_answer(turn)
    cut_frame = transcripts.frame_of(cut) if cut is not None else None
    is_hidden = cut is not None and cut_frame is not None and hidden_text.hide_cut_of((frame for _, frame in written), cut.pk, cut_frame)
    before = TextBeforeCut(cut_frame)
    frames = [(key, frame) for key, frame in written if key not in stored and before.is_exceeded_by(frame)]
    rows = [(frame, ledger.author_of(frame), transcripts.FrameMetadata(turn.pk, key)) for key, frame in frames]
    if rows:
        frame, author, metadata = rows[-1]
        rows[-1] = (frame, author, replace(metadata, is_complete=False, error_code=Code.STREAM_TRUNCATED))
    if not any(map(continuation.is_answer, turn.messages.all())):  # else the lines stand before that answer already
        at = next((number for number, (frame, *_) in enumerate(rows) if is_answer(frame.header)), len(rows))
        rows[at:at] = _summary_of(turn, pieces)
    if not rows:
        return
    place = turn.messages.order_by("position").last() or continuation.place_of(turn)
    messages = transcripts.append_chain(turn.conversation, place, rows)
    instead_of = cut.pk if cut is not None and (is_hidden or any(map(continuation.is_answer, messages))) else None
    transcripts.follow(turn.asked_by_id, messages[-1], place.pk, instead_of=instead_of)


def _summary_of(turn: Turn, pieces: Sequence[tuple[UUID, Frame]]) -> Iterator[tuple[Frame, Author, transcripts.FrameMetadata]]:
    """The frame of the lines that people saw, if it was not stored."""
    for key, frame in pieces:
        lines, places = lines_in(frame) or ([], [])
        if lines and not turn.messages.filter(pk=key).exists():
            metadata = transcripts.FrameMetadata(turn.pk, key, activities=tuple(lines), places=tuple(places))
            yield summary_frame.frame_of(lines), Author.PRODUCT, metadata
