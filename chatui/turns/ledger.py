"""Database writes of a running turn: its frames, its lease, its end. Each write checks that the turn still belongs to this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.env import environment
from chatui.models import Message, Turn
from chatui.models.message import Author
from chatui.models.turn import TurnState
from chatui.store import continuation, requests, transcripts
from chatui.turns.start import LEASE
from renderer import history
from renderer.errors import ErrorCode
from renderer.events import Finished
from renderer.frame_kinds import ANSWER
from renderer.frames import Frame, Header, Role


class LeaseLostError(Exception):
    """The turn has ended, or another process has it: nothing may be written any more."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a runner needs to know to begin. ``load`` fills in the fields after ``choice``; those before are enough to end the turn.

    ``place_id`` is the parent of the turn's first frame. Where the turn continues an answer, ``shown_before`` is what people already see of
    it, ``cut_answer`` is the cut answer (empty where it has no text yet), and ``cut_message_id`` the message that the whole one replaces.
    """

    turn_id: UUID
    conversation_id: UUID
    asked_by_id: UUID
    question_id: UUID
    lease_owner: str
    effort: str
    choice: str = ""
    frames: tuple[Frame, ...] = field(default=(), repr=False)
    place_id: UUID | None = None
    shown_before: tuple[tuple[UUID, Frame], ...] = field(default=(), repr=False)
    cut_answer: Frame | None = None
    cut_message_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended. ``detail`` is for staff and may hold what a server answered."""

    state: TurnState
    code: ErrorCode | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What the back end reported about a turn's samples; None or empty where it did not. ``request``: the path and body that were sent.

    ``sampled_with``: the last sample's keys of ``generation_settings``; None where nothing was sampled.
    """

    backend: str = ""
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    turns_left_out: int = 0
    thought_seconds: int | None = None
    request: tuple[str, bytes] | None = field(default=None, repr=False)
    sampled_with: Mapping[str, object] | None = None


def job_of(turn: Turn) -> Job:
    """The job of a turn, without its frames. Reads nothing from the database, so it cannot fail."""
    return Job(
        turn_id=turn.pk,
        conversation_id=turn.conversation_id,
        asked_by_id=turn.asked_by_id,
        question_id=turn.question_id,
        lease_owner=turn.lease_owner,
        effort=turn.effort,
        choice=turn.choice,
    )


def load(turn_id: UUID) -> Job:
    """The job of a turn, with the branch up to its question as the model may see it again."""
    turn = Turn.objects.select_related("conversation", "question", "continued_message__parent").get(pk=turn_id)
    place, cut = continuation.place_of(turn), continuation.cut_answer(turn)
    messages = transcripts.branch(turn.conversation, place)
    seen = [transcripts.frame_of(message) for message in messages if not _is_order(message)]
    job = replace(job_of(turn), frames=(*_orders(), *history.seen_again(seen)), place_id=place.pk)
    if turn.continued_message is None:
        return job
    answer = [*messages[[message.pk for message in messages].index(turn.question_id) + 1 :], *([cut] if cut else [])]
    return replace(
        job,
        shown_before=tuple((message.pk, transcripts.frame_of(message)) for message in answer if message.is_visible and not message.name),
        cut_answer=transcripts.frame_of(cut) if cut else _NO_ANSWER_YET,
        cut_message_id=cut.pk if cut else None,
    )


_NO_ANSWER_YET = Frame(ANSWER, "")


def _orders() -> tuple[Frame, ...]:
    """The operator's current instructions. They are part of each request, whatever the history holds and wherever it came from."""
    instructions = environment().instructions
    return (Frame(Header(Role.DEVELOPER), instructions),) if instructions else ()


def _is_order(message: Message) -> bool:
    """Stored system and developer frames are only a record: an import must not give instructions, and the operator's may have changed."""
    return message.role in (Role.SYSTEM, Role.DEVELOPER)


def keep(job: Job, parent_id: UUID, key: UUID, finished: Finished) -> None:
    """Store a finished frame under ``parent_id``. The asking person's open branch moves on to it, unless they opened another one meanwhile.

    A caller that does not know whether the first call succeeded may call again with the same ``key``.
    """
    with transaction.atomic():
        turn = _locked(job)
        if Message.objects.filter(pk=key, turn=turn).exists():
            return
        message = transcripts.append(
            turn.conversation,
            Message.objects.get(pk=parent_id, conversation=turn.conversation),
            finished.frame,
            Author.PRODUCT if finished.frame.header.role == Role.TOOL else Author.MODEL,
            transcripts.Kept(turn=turn, key=key, is_complete=finished.complete, error_code=finished.error or ""),
        )
        transcripts.follow(
            turn.conversation, turn.asked_by, message, instead_of=job.cut_message_id if continuation.is_answer(message) else None
        )
        Turn.objects.filter(pk=turn.pk).exclude(checkpoint="").update(checkpoint="")


def keep_summary(job: Job, parent_id: UUID, written: Sequence[tuple[UUID, Finished]]) -> None:
    """Store what the product wrote about a turn's hidden work: a chain of frames, each under the one before. May be called again."""
    with transaction.atomic():
        turn = _locked(job)
        if Message.objects.filter(pk__in=[key for key, _ in written], turn=turn).exists():
            return
        last = Message.objects.get(pk=parent_id, conversation=turn.conversation)
        for key, finished in written:
            kept = transcripts.Kept(turn=turn, key=key, error_code=finished.error or "")
            last = transcripts.append(turn.conversation, last, finished.frame, Author.PRODUCT, kept)
            transcripts.follow(turn.conversation, turn.asked_by, last)


def renew(job: Job, checkpoint: str) -> None:
    """Renew the lease, and store what the open frame holds so far in case this process dies."""
    changed = _mine(job).update(lease_until=timezone.now() + LEASE, checkpoint=checkpoint)
    if not changed:
        raise LeaseLostError


def let_go(job: Job, checkpoint: str) -> None:
    """Give up the lease at once, and store what the open frame holds: this process is ending, and the next sweep closes the turn."""
    _mine(job).update(lease_until=timezone.now(), checkpoint=checkpoint)


def finish(job: Job, outcome: Outcome, account: Account) -> bool:
    """Give the turn its one terminal state. False where it already has one."""
    now = timezone.now()
    # The server's own name for its model goes into the header of transcripts, which must not hold control tokens.
    model = transcripts.header_text(account.model)
    ended = _mine(job).update(
        state=outcome.state,
        error_code=outcome.code or "",
        error_detail=transcripts.storable(outcome.detail)[:8000],
        backend=account.backend[:100],
        model=model,
        input_tokens=account.input_tokens,
        output_tokens=account.output_tokens,
        turns_left_out=account.turns_left_out,
        thought_seconds=account.thought_seconds,
        request=requests.pack(*account.request) if account.request else None,
        finished_at=now,
        checkpoint="",
    )
    if ended:
        conversation = Turn.objects.select_related("conversation").get(pk=job.turn_id).conversation
        conversation.active_at = now
        conversation.model = model or conversation.model
        if account.sampled_with is not None:
            conversation.sampled_with = dict(account.sampled_with)
        conversation.save(update_fields=["active_at", "model", "sampled_with"])
    return bool(ended)


def _mine(job: Job) -> QuerySet[Turn]:
    return Turn.objects.filter(pk=job.turn_id, state=TurnState.RUNNING, lease_owner=job.lease_owner, conversation__deleted_at=None)


def _locked(job: Job) -> Turn:
    turn = _mine(job).select_for_update(of=("self",)).select_related("conversation", "asked_by").first()
    if turn is None:
        raise LeaseLostError
    return turn
