"""Closes turns whose process has died: once their lease has run out, they end as interrupted, and what was shown is stored."""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.models import Conversation, Turn
from chatui.models.message import Author
from chatui.models.turn import TurnState
from chatui.store import continuation, transcripts
from renderer.errors import Code, OpenChatMLError
from renderer.ocml import document

log = logging.getLogger(__name__)


def interrupt_abandoned(conversation: Conversation | None = None) -> int:
    """Close every abandoned turn, of one conversation or of all. Returns how many there were."""
    return sum(_interrupt(turn) for turn in _abandoned(conversation))


def _abandoned(conversation: Conversation | None) -> QuerySet[Turn]:
    turns = Turn.objects.filter(state=TurnState.RUNNING, lease_until__lt=timezone.now())
    return turns if conversation is None else turns.filter(conversation=conversation)


def _interrupt(turn: Turn) -> bool:
    with transaction.atomic():
        # Read again under a lock: meanwhile the owner may have renewed its lease or stored its frame, or another sweep closed the turn.
        held = _abandoned(None).select_for_update(of=("self",)).select_related("conversation", "question", "asked_by")
        abandoned = held.filter(pk=turn.pk).first()
        if abandoned is None:
            return False
        Turn.objects.filter(pk=turn.pk).update(
            state=TurnState.INTERRUPTED,
            error_code=Code.STREAM_TRUNCATED,
            finished_at=timezone.now(),
            checkpoint="",
        )
        if abandoned.checkpoint:
            _keep_checkpoint(abandoned)
    return True


def _keep_checkpoint(turn: Turn) -> None:
    try:
        frame = document.parse_frame(turn.checkpoint)
    except OpenChatMLError:
        # This text is lost. But the conversation must stay usable, and the server, which sweeps when it starts, must start.
        log.warning("turn %s: its checkpoint could not be read", turn.pk)
        return
    cut = continuation.cut_answer(turn)
    if cut is not None and transcripts.frame_of(cut).body == frame.body:
        return  # nothing was added to the answer that the turn continued
    message = transcripts.append(
        turn.conversation,
        turn.messages.order_by("position").last() or continuation.place_of(turn),
        frame,
        Author.MODEL,
        transcripts.Kept(turn=turn, is_complete=False, error_code=Code.STREAM_TRUNCATED),
    )
    instead_of = cut.pk if cut is not None and continuation.is_answer(message) else None
    transcripts.follow(turn.conversation, turn.asked_by, message, instead_of=instead_of)
