"""Database reads and writes of a running turn: the instructions above its conversation, its frames and its end.

The instructions are the operator's, then the person's preferences or the program's. Each write checks that the turn still belongs to this
process. The writer runs each of them in a transaction, and may run it again if the result of a commit was lost.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import copy
from datetime import UTC, date, datetime
from itertools import dropwhile
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chatui.backends.context_window import SEEN_CHARS
from chatui.database import connections
from chatui.instructions import instructions_for
from chatui.models.conversation import Conversation, Folder
from chatui.models.message import Author, Message
from chatui.models.turn import Turn, TurnPiece, TurnState
from chatui.models.usage import UsageKind
from chatui.models.user import User
from chatui.prompts import format_preferences, format_program_instructions
from chatui.store import branches, continuation, document_headers, documents, hidden_text, requests, transcripts
from chatui.store.branches import PromptMessage
from chatui.turns import statements
from chatui.turns.asks import ProgramAsk
from chatui.turns.running_turn import LeaseLostError, RunningTurn, TokenAccount, TurnOutcome
from chatui.usage import settling
from chatui.usage.counting import Charge
from renderer import history
from renderer.activities import frame as summary_frame
from renderer.activities.activity import Activity, from_stored
from renderer.events import Finished
from renderer.frame_kinds import ANSWER, DOCUMENT_NAME, SUMMARY_NAME, TOOL_LINE_NAME, is_tool_line
from renderer.frames import Frame, Header, Role, Terminator
from renderer.ocml import document


def frames_of(turn: Turn, program: ProgramAsk | None) -> tuple[Frame, ...]:
    """All instructions for one request. ``turn`` must come with its conversation and person. Takes one statement in a folder, and one more
    if groups have instructions."""
    operators = instructions_for(turn.asked_by.group_names)
    own = () if program else _own(turn.conversation, turn.asked_by)
    preferences = "\n\n".join(filter(None, (*own, _of_folder(turn.conversation))))
    return (
        *_developer(operators),
        *_developer(format_preferences(preferences) if preferences else ""),
        *_of_program(program.all_instructions if program else "", has_operators=bool(operators)),
    )


def today(person: User) -> date | None:
    """The date in the person's time zone; None if they have not set one."""
    try:
        return datetime.now(UTC).astimezone(ZoneInfo(person.time_zone)).date() if person.time_zone else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None  # a zone that this machine does not know


def _own(conversation: Conversation, person: User) -> tuple[str, ...]:
    """The person's instructions for all conversations; none if they are turned off in this one."""
    is_off = conversation.without_instructions or conversation.owner_id != person.pk
    return () if is_off else (person.instructions,)


def _of_folder(conversation: Conversation) -> str | None:
    """The instructions of the conversation's folder, read for each request."""
    folder = Folder.objects.filter(pk=conversation.folder_id, owner=conversation.owner_id) if conversation.folder_id else None
    return folder.values_list("instructions", flat=True).first() if folder else None


def _of_program(text: str, *, has_operators: bool) -> tuple[Frame, ...]:
    # Marked as a program's only if there are instructions of the operator, with which they could be confused.
    return _developer(format_program_instructions(text) if text and has_operators else text)


def _developer(text: str) -> tuple[Frame, ...]:
    return (Frame(Header(Role.DEVELOPER), text),) if text else ()


log = logging.getLogger(__name__)


def load(running: RunningTurn) -> None:
    """Load the branch up to the question as the model may see it again, and the answer that the turn continues.

    At most one statement, and one more for each of these: an answer that was already continued before, a conversation that is longer than
    any model reads, a folder, documents. A program's instructions come below the operator's, and its turn never continues a cut answer.
    """
    turn, program = running.turn, running.program
    if hints := document_headers.unmet_capabilities(turn.conversation):
        log.info("turn %s: %s", turn.pk, "; ".join(hints))
    cut = continuation.cut_answer(turn)
    place_id = (cut.parent_id if cut else (program and program.continue_after) or turn.continued_message_id) or turn.question_id
    messages = _branch(turn, place_id)
    left_out = branches.questions_from(messages[0].parent_id) if messages[0].parent_id else 0
    if left_out:
        messages = list(dropwhile(lambda message: message.role != Role.USER, messages))
    sent = _documents(messages)
    known = {turn.question_id: transcripts.frame_of(turn.question)}
    seen = [known.get(message.key) or document.parse_frame(message.text) for message in messages if not _is_instruction(message)]
    running.frames = (*frames_of(turn, program), *history.frames_for_prompt(seen))
    running.sampling = document_headers.sampling_of(turn.conversation)
    running.today = None if program else today(turn.asked_by)
    running.place_id = place_id
    running.turns_left_out = left_out
    running.counted = {document.parse_frame(message.text): tokens for message, _, tokens in sent}
    running.imported = _imported(messages)
    running.files = tuple(name for message, name, _ in sent if message.author == Author.PERSON)
    running.call_ids = frozenset(frame.header.call_id for frame in seen if frame.terminator is Terminator.CALL and frame.header.call_id)
    if turn.continued_message is None:
        return
    answer = list(dropwhile(lambda message: message.key != turn.question_id, messages))[1:]
    summaries = [message.key for message in answer if message.is_visible and message.name == SUMMARY_NAME]
    shown = [(message.key, document.parse_frame(message.text)) for message in answer if message.is_visible and message.name in _SHOWN_NAMES]
    running.shown_before = (*shown, *([(cut.pk, transcripts.frame_of(cut))] if cut else []))
    running.thought_before = _thought_before(turn.continued_message, answer)
    running.steps_before = _steps(summaries)
    running.cut_answer = transcripts.frame_of(cut) if cut else None if program else _NO_ANSWER_YET
    running.cut_message_id = cut.pk if cut else None


def _imported(messages: Sequence[PromptMessage]) -> frozenset[str]:
    others = (Author.IMPORT, Author.FORMER)
    questions = (message for message in messages if message.role == Role.USER and message.author in others)
    return frozenset(document.parse_frame(message.text).body for message in questions)


def _documents(messages: Sequence[PromptMessage]) -> list[tuple[PromptMessage, str, int]]:
    """The documents among these messages, without deleted ones, each with its name and its token count."""
    found = [message for message in messages if message.role == Role.USER and message.name == DOCUMENT_NAME]
    known = documents.names_and_tokens([message.key for message in found])
    return [(message, *known[message.key]) for message in found if message.key in known]


def _thought_before(cut: Message, answer: Sequence[PromptMessage]) -> int | None:
    # Nearly always a single turn wrote the cut answer, and that turn is already loaded.
    if cut.turn is not None and cut.turn.continued_message_id is None:
        return cut.turn.thought_seconds
    return continuation.thought_seconds(continuation.writers_of([cut.pk, *(message.key for message in answer)]))


def _steps(summaries: Sequence[UUID]) -> tuple[Activity, ...]:
    """The lines of these summaries, in order. No statement for none."""
    rows = Message.objects.filter(pk__in=summaries).order_by("position").values_list("activities", flat=True) if summaries else ()
    return tuple(line for stored in rows for line in from_stored(stored))


def _branch(turn: Turn, place_id: UUID) -> list[PromptMessage]:
    question = turn.question
    if place_id == question.pk and question.parent_id is None:
        return [PromptMessage(question.pk, None, question.role, question.name, question.is_visible, question.text, question.author)]
    return branches.prompt_messages(place_id, SEEN_CHARS)


_NO_ANSWER_YET = Frame(ANSWER, "")
_SHOWN_NAMES = (None, "", TOOL_LINE_NAME)


def _is_instruction(message: PromptMessage) -> bool:
    """Stored system and developer frames are only a record: an import must not give instructions, and the operator's may have changed."""
    return message.role in (Role.SYSTEM, Role.DEVELOPER)


def store_frames(running: RunningTurn, parents: Sequence[UUID], written: Sequence[tuple[UUID, Finished]]) -> list[Message]:
    """Store finished frames, each under the one before it, and the first under the first of ``parents`` that is stored. The person's open
    branch moves to the last frame, unless they have opened another branch. Returns the messages; none if they were already stored."""
    frames = [
        (each.frame, author_of(each.frame), transcripts.FrameMetadata(running.turn.pk, key, each.complete, each.error or "", each.ended_at))
        for key, each in written
    ]
    return _store(running, parents, written[0][0], frames)


def author_of(frame: Frame) -> Author:
    """Who wrote a frame of a turn. A model's frame never has the header of a tool line: that name is removed as the frame arrives."""
    return Author.PRODUCT if frame.header.role == Role.TOOL or is_tool_line(frame.header) else Author.MODEL


def store_summary(running: RunningTurn, parents: Sequence[UUID], key: UUID, lines: Sequence[Activity]) -> list[Message]:
    """As ``store_frames``, for the frame of the summary, which the product writes, with its lines as values."""
    places = tuple(running.program.stream.step_keys) if running.program else ()
    metadata = transcripts.FrameMetadata(running.turn.pk, key, activities=tuple(lines), places=places)
    return _store(running, parents, key, [(summary_frame.frame_of(lines), Author.PRODUCT, metadata)])


def _store(
    running: RunningTurn, parents: Sequence[UUID], first: UUID, frames: Sequence[tuple[Frame, Author, transcripts.FrameMetadata]]
) -> list[Message]:
    position = _next_position(running, first)
    if position is None:
        return []
    parent_id = _parent(parents)
    messages = transcripts.append_chain_at(_conversation(running), transcripts.TreePosition(parent_id, position), frames)
    is_withdrawn = hidden_text.hide_cut_of((frame for frame, *_ in frames), running.cut_message_id, running.cut_answer)
    instead_of = running.cut_message_id if is_withdrawn or continuation.is_answer(messages[-1]) else None
    transcripts.follow(running.turn.asked_by_id, messages[-1], parent_id, instead_of=instead_of)
    return messages


def give_up_lease(turn: Turn, pieces: Sequence[TurnPiece]) -> None:
    """Give up the lease at once, and store the text of the open frames: this process is ending, and the next sweep closes the turn."""
    # In one transaction: the writer's thread may be about to end the turn, and no piece may be stored after that.
    with transaction.atomic():
        if _own_turn(turn).update(lease_until=connections.now()):
            TurnPiece.objects.bulk_create(pieces, ignore_conflicts=True)


def ask_to_stop(turn_id: UUID) -> None:
    """Ask the process that runs the turn to stop it. It does so within about a second."""
    Turn.objects.filter(pk=turn_id, state=TurnState.RUNNING).update(stop_requested=True)


def finish(running: RunningTurn) -> bool:
    """Give the turn its one terminal state: that of its outcome. False if it was no longer ours."""
    outcome, account, keeps = running.outcome, running.account, hidden_text.keeps_reasoning()
    now, shown = timezone.now(), _shown(outcome, account)
    columns = {
        **shown,
        "is_queued": False,
        "error_detail": transcripts.storable(outcome.detail)[:8000] if keeps else "",
        "input_tokens": account.input_tokens,
        "output_tokens": account.output_tokens,
        "first_token_ms": account.first_token_ms,
        "thought_seconds": account.thought_seconds,
        "request": requests.pack(*account.request) if account.request and keeps else None,
    }
    if ended := statements.end(running.turn.pk, running.turn.lease_owner, columns):
        # Before the conversation: a new question also locks the person's usage count first, and opposite orders would deadlock.
        answer = Charge(UsageKind.ANSWER, account.spent, running.turn.choice, account.backend, shown["model"])
        settling.settle(settling.attribution_of(running.turn), outcome.state, [answer])
        changed: dict[str, object] = {"active_at": now, **({"has_news": True} if is_news(outcome.state) else {})}
        if shown["model"]:
            changed["model"] = shown["model"]
        if account.sampled_with is not None:
            changed["sampled_with"] = dict(account.sampled_with)
        statements.answered(running.turn.conversation_id, now, changed)
        hidden_text.forget_reasoning(running.turn.pk)
    if ended and running.pieces.are_written:  # asked last: from now on, none can be written
        TurnPiece.objects.filter(turn=running.turn.pk).delete()
    return ended


def is_news(state: TurnState) -> bool:
    """Whether such an end is news to the person. A turn that they stopped themselves is not."""
    return state is not TurnState.STOPPED


def ended(running: RunningTurn) -> Turn:
    """The turn as ``finish`` has stored it, with the columns that pages show. Reads nothing from the database."""
    turn = copy(running.turn)
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


def _own_turn(turn: Turn) -> QuerySet[Turn]:
    """The turn, if it is still ours. This includes turns in a conversation that was just deleted: what was shown before is still stored,
    because the deletion can be undone. Erasing a conversation for good ends its turn first."""
    return statements.mine(turn.pk, turn.lease_owner)


def is_ours(turn: Turn) -> bool:
    """Whether the turn still runs in this process. Locks it until the end of the transaction."""
    return _own_turn(turn).select_for_update(of=("self",), no_key=True).values_list("pk").first() is not None


def _next_position(running: RunningTurn, key: UUID) -> int | None:
    """Lock the turn, and find the position for the message ``key``. None if that message is already stored."""
    found = statements.place_of(running.turn.pk, running.turn.lease_owner, key)
    if found is None:
        raise LeaseLostError
    last, is_kept = found
    return None if is_kept else last + 1


def _parent(keys: Sequence[UUID]) -> UUID:
    """The first of these messages that is stored. Queries the database only if there is more than one candidate."""
    if len(keys) == 1:
        return keys[0]
    stored = set(Message.objects.filter(pk__in=keys).values_list("pk", flat=True))
    return next((key for key in keys if key in stored), keys[-1])


def _conversation(running: RunningTurn) -> Conversation:
    """The conversation, with the fields that its messages need. Its owner is the person who asked: nobody else can ask in it."""
    turn = running.turn
    return Conversation(id=turn.conversation_id, owner_id=turn.asked_by_id, temporary_until=turn.conversation.temporary_until)
