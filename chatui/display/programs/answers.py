"""Reads and deletes stored answers to programs, and says what they were asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from chatui.codes import code_of
from chatui.models import Message, ProgramAnswer, Turn, User
from chatui.permissions import own_answers
from chatui.store import transcripts
from renderer.errors import ErrorCode
from renderer.frame_kinds import SUMMARY_NAME, is_preamble
from renderer.frames import Role
from renderer.gate import Audience, VisibleText, may_see, show
from renderer.summary import frame as summary_frame


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A message: the ``role`` that wrote it, and what it is. ``steps``: the lines of a summary, which stands for what was thought."""

    key: str
    role: str
    text: VisibleText = field(repr=False)
    is_preamble: bool = False
    is_whole: bool = True
    steps: tuple[VisibleText, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer as it is stored. ``given``: the settings of its request; ``process``: which one writes it, while it is being written."""

    id: UUID
    turn_id: UUID
    process: str
    model: str
    state: str
    code: ErrorCode | None
    created_at: datetime
    finished_at: datetime | None
    input_tokens: int | None
    output_tokens: int | None
    given: Mapping[str, Any] = field(repr=False)
    parts: tuple[StoredPart, ...] = field(repr=False)


def stored_answer(person: User, answer_id: UUID) -> StoredAnswer:
    """A person's stored answer. Raises NotFoundError."""
    row = own_answers.answer_of(person, answer_id)
    turn = row.turn
    return StoredAnswer(
        id=row.pk,
        turn_id=turn.pk,
        process=turn.lease_owner,
        model=turn.choice,
        state=turn.state,
        code=code_of(turn.error_code) if turn.error_code else None,
        created_at=turn.started_at,
        finished_at=turn.finished_at,
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        given=row.given,
        # As the stream told it: what a model wrote in a person's name is no part of its answer.
        parts=tuple(part for part in _parts(transcripts.of_turn(turn)) if part.role == Role.ASSISTANT),
    )


def input_of(person: User, answer_id: UUID) -> list[StoredPart]:
    """What was said up to the question of an answer, in order, as far as a program sees it. Raises NotFoundError."""
    turn = own_answers.answer_of(person, answer_id).turn
    branch = transcripts.branch(turn.conversation, turn.question)
    return [part for part in _parts(branch) if part.steps is None]


def delete_answer(person: User, answer_id: UUID) -> None:
    """No program finds the answer again. Its conversation goes into the bin, unless other answers of it are still found, or people asked in
    it. Raises NotFoundError."""
    row = own_answers.answer_of(person, answer_id)
    conversation = row.turn.conversation
    row.delete()
    others = Turn.objects.filter(conversation=conversation).exclude(pk=row.turn_id)
    if not ProgramAnswer.objects.filter(turn__in=others).exists() and not _is_continued(others):
        conversation.deleted_at = timezone.now()
        conversation.save(update_fields=["deleted_at"])


def _is_continued(others: Any) -> bool:
    """Whether a person asked in the conversation, too: then it is on their list, or they have put it elsewhere themselves."""
    return bool(others.filter(conversation__archived_at=None).exists())


def _parts(messages: Iterable[Message]) -> Iterable[StoredPart]:
    for message in messages:
        header = transcripts.header_of(message)
        if not may_see(header, Audience.PROGRAM):
            continue
        text = show(transcripts.frame_of(message), Audience.PROGRAM)
        key = message.pk.hex
        if header.name == SUMMARY_NAME:
            yield StoredPart(
                key, Role.ASSISTANT, VisibleText.joined(()), steps=tuple(map(summary_frame.shown, summary_frame.steps_of(text)))
            )
        else:
            yield StoredPart(key, header.role, text, is_preamble(header), message.is_complete)
