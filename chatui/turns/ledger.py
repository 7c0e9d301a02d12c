"""What a running turn writes: its frames and its end. Each write checks that the turn still belongs to this process.

The writer runs each of them in a transaction, and may run it again if the result of a commit was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.database import connections
from chatui.database.statements import execute, insert, locking, new, query, update, updated
from chatui.env import environment
from chatui.models.conversation import Conversation
from chatui.models.message import Author, Message
from chatui.models.turn import Turn, TurnPiece, TurnState
from chatui.models.usage import UsageKind
from chatui.store import continuation, hidden_text, requests, temporary, transcripts
from chatui.turns.running_turn import LeaseLostError, RunningTurn, TokenAccount, TurnOutcome
from chatui.usage import settling
from chatui.usage.counting import Charge
from renderer import characters
from renderer.activities import frame as summary_frame
from renderer.activities.activity import Activity
from renderer.events import Finished
from renderer.frame_kinds import is_tool_line
from renderer.frames import Frame, Role

_Frame = tuple[Frame, Author, transcripts.FrameMetadata]


def store_frames(running: RunningTurn, parents: Sequence[UUID], written: Sequence[tuple[UUID, Finished]]) -> list[Message]:
    """Store finished frames, each under the one before it, and the first under the first of ``parents`` that is stored. The person's open
    branch moves to the last frame, unless they have opened another branch. Returns the messages; none if they were already stored."""
    return _store(running, parents, written[0][0], _with_metadata(running, written))


def finish_with(running: RunningTurn, parents: Sequence[UUID], written: Sequence[tuple[UUID, Finished]]) -> list[Message]:
    """As ``store_frames`` and ``finish``, in one write."""
    return _store(running, parents, written[0][0], _with_metadata(running, written), ends=True)


def _with_metadata(running: RunningTurn, written: Sequence[tuple[UUID, Finished]]) -> list[_Frame]:
    return [
        (each.frame, author_of(each.frame), transcripts.FrameMetadata(running.turn.pk, key, each.complete, each.error or "", each.ended_at))
        for key, each in written
    ]


def author_of(frame: Frame) -> Author:
    """Who wrote a frame of a turn. A model's frame never has the header of a tool line: that name is removed as the frame arrives."""
    return Author.PRODUCT if frame.header.role == Role.TOOL or is_tool_line(frame.header) else Author.MODEL


def store_summary(running: RunningTurn, parents: Sequence[UUID], key: UUID, lines: Sequence[Activity]) -> list[Message]:
    """As ``store_frames``, for the frame of the summary, which the product writes, with its lines as values."""
    places = tuple(running.ask.program.stream.step_keys) if running.ask.program else ()
    metadata = transcripts.FrameMetadata(running.turn.pk, key, activities=tuple(lines), places=places)
    return _store(running, parents, key, [(summary_frame.frame_of(lines), Author.PRODUCT, metadata)])


def _store(running: RunningTurn, parents: Sequence[UUID], first: UUID, frames: Sequence[_Frame], *, ends: bool = False) -> list[Message]:
    turn = running.turn
    # Whether the frames are kept already need not be asked of a turn that ends with them: it would have ended.
    place = _end(running) if ends else _place(turn, first)
    if place is None:
        return []
    parent_id = _parent(parents)
    # With the fields that its messages need. Its owner is the person who asked: nobody else can ask in it.
    conversation = new(Conversation, id=turn.conversation_id, owner_id=turn.asked_by_id, temporary_until=turn.conversation.temporary_until)
    messages = transcripts.append_chain_at(conversation, transcripts.TreePosition(parent_id, place), frames)
    if ends:  # before the open branch, which a new question locks after usage count and conversation: opposite orders would deadlock
        _close(running)
    cut, key = running.request.cut_answer, running.cut_message_id
    is_withdrawn = cut is not None and key is not None and hidden_text.hide_cut_of((frame for frame, *_ in frames), key, cut)
    instead_of = key if is_withdrawn or continuation.is_answer(messages[-1]) else None
    transcripts.follow(turn.asked_by_id, messages[-1], parent_id, instead_of=instead_of)
    return messages


def _place(turn: Turn, first: UUID) -> int | None:
    """The next free position in the turn's conversation; None if the message ``first`` is already stored. Locks the turn.

    Raises:
        LeaseLostError: the turn is no longer ours.
    """
    found = query(_PLACE + locking("chatui_turn"), first, turn.pk, turn.lease_owner)
    if not found:
        raise LeaseLostError
    place, is_kept = found[0]
    return None if is_kept else place


def give_up_lease(turn: Turn, pieces: Sequence[TurnPiece]) -> None:
    """Give up the lease at once, and store the text of the open frames: this process is ending, and the next sweep closes the turn."""
    # In one transaction: the writer's thread may be about to end the turn, and no piece may be stored after that.
    with transaction.atomic():
        if mine(turn.pk, turn.lease_owner).update(lease_until=connections.now()):
            insert(pieces, "ON CONFLICT DO NOTHING")


def ask_to_stop(turn_id: UUID) -> None:
    """Ask the process that runs the turn to stop it. It does so within about a second."""
    Turn.objects.filter(pk=turn_id, state=TurnState.RUNNING).update(stop_requested=True)


def finish(running: RunningTurn) -> None:
    """Give the turn its one terminal state: that of its outcome.

    Raises:
        LeaseLostError: the turn was no longer ours. If an earlier commit, whose result was lost, has stored this end, nothing is raised.
    """
    if _end(running) is not None:
        _close(running)


def _end(running: RunningTurn) -> int | None:
    """Give the turn's row its state. Returns the next free position in its conversation; None if an earlier commit has stored this end.

    Raises:
        LeaseLostError: as in ``finish``.
    """
    outcome, account, keeps = running.outcome, running.account, environment().keeps_reasoning
    columns = {
        **_shown(outcome, account),
        "is_queued": False,
        "error_detail": characters.storable(outcome.detail)[:8000] if keeps else "",
        "input_tokens": account.input_tokens,
        "output_tokens": account.output_tokens,
        "first_token_ms": account.first_token_ms,
        "thought_seconds": account.thought_seconds,
        "request": requests.pack(*account.request) if account.request and keeps and running.keeps_replies else None,
    }
    if found := updated("chatui_turn", columns, _MINE, running.turn.pk, running.turn.lease_owner, read=_NEXT):
        return int(found[0][0])
    if _is_stored(running):
        return None
    raise LeaseLostError


def _close(running: RunningTurn) -> None:
    """Book what the ended turn has used, and mark its conversation."""
    outcome, account, conversation, now = running.outcome, running.account, running.turn.conversation, timezone.now()
    model = transcripts.header_text(account.model)
    # Before the conversation: a new question also locks the person's usage count first, and opposite orders would deadlock.
    answer = Charge(UsageKind.ANSWER, account.spent, running.turn.choice, account.backend, model)
    settling.settle(settling.attribution_of(running.turn), outcome.state, [answer])
    changed: dict[str, object] = {"active_at": now, **({"has_news": True} if is_news(outcome.state) else {})}
    if model:
        changed["model"] = model
    if account.sampled_with is not None:
        changed["sampled_with"] = dict(account.sampled_with)
    update("chatui_conversation", changed, "id = %s", conversation.pk)
    if conversation.temporary_until is not None:
        temporary.note_answer(conversation.pk)
    if not environment().keeps_reasoning:
        hidden_text.forget_reasoning(running.turn.pk)
    if running.pieces.are_written:  # asked last: from now on, none can be written
        execute("DELETE FROM chatui_turnpiece WHERE turn_id = %s", [running.turn.pk])


def is_news(state: TurnState) -> bool:
    """Whether such an end is news to the person. A turn that they stopped themselves is not."""
    return state is not TurnState.STOPPED


def ended(running: RunningTurn) -> Turn:
    """The turn, from now on as ``finish`` has stored it, with the columns that pages show. Reads nothing from the database."""
    turn = running.turn
    for name, value in _shown(running.outcome, running.account).items():
        setattr(turn, name, value)
    return turn


def _shown(outcome: TurnOutcome, account: TokenAccount) -> dict[str, Any]:
    """The columns of an ended turn that pages show."""
    context = outcome.context or account.context
    return {
        "state": outcome.state,
        "error_code": outcome.code or "",
        "error_cause": outcome.cause[:200],
        "retry_after": outcome.retry_after,
        "backend": account.backend[:100],
        # The server's own name for its model goes into the header of transcripts, which must not contain control tokens.
        "model": transcripts.header_text(account.model),
        "turns_left_out": account.turns_left_out,
        "by_server": account.by_server,
        "context_size": context.size if context else None,
        "context_used": context.used if context else None,
        "finished_at": account.ended_at or timezone.now(),
    }


def mine(key: UUID, owner: str) -> QuerySet[Turn]:
    """The turn, if it is running in the process ``owner``. This includes turns in a conversation that was just deleted: what was shown
    before is still stored, because the deletion can be undone. Erasing a conversation for good ends its turn first."""
    return Turn.objects.filter(pk=key, state=TurnState.RUNNING, lease_owner=owner)


_MINE = "id = %s AND state = 'running' AND lease_owner = %s"
"""As ``mine``, in SQL."""
_NEXT = "(SELECT COALESCE(MAX(position) + 1, 0) FROM chatui_message WHERE conversation_id = chatui_turn.conversation_id)"
"""The next free position in the conversation of a turn."""
_PLACE = f"SELECT {_NEXT}, EXISTS (SELECT 1 FROM chatui_message WHERE id = %s) FROM chatui_turn WHERE {_MINE}"  # noqa: S608 - all of it is ours
"""The next free position in the turn's conversation, and whether a message is already stored."""


def check_ours(turn: Turn) -> None:
    """Lock the turn until the end of the transaction.

    Raises:
        LeaseLostError: it has ended, or another process has it.
    """
    if mine(turn.pk, turn.lease_owner).select_for_update(of=("self",), no_key=True).values_list("pk").first() is None:
        raise LeaseLostError


def _is_stored(running: RunningTurn) -> bool:
    """Whether the turn has exactly this end. Then this process has ended it: any other would have stored a different end."""
    at = running.account.ended_at
    return at is not None and Turn.objects.filter(pk=running.turn.pk, state=running.outcome.state, finished_at=at).exists()


def _parent(keys: Sequence[UUID]) -> UUID:
    """The first of these messages that is stored. Queries the database only if there is more than one candidate."""
    if len(keys) == 1:
        return keys[0]
    stored = set(Message.objects.filter(pk__in=keys).values_list("pk", flat=True))
    return next((key for key in keys if key in stored), keys[-1])
