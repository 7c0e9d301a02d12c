"""Opens the sealed texts that a program sends back, and turns them into messages before the question."""

from __future__ import annotations

from uuid import UUID

from chatui.models import User
from chatui.permissions.programs import own_answers
from chatui.prompts.compacting import notes_message, notes_of
from chatui.store import transcripts
from chatui.turns.requests.by_program import EarlierMessage
from chatui.turns.sealed import tokens
from chatui.turns.sealed.tokens import Purpose
from renderer.frame_kinds import NOTES


class UnreadableSummaryError(Exception):
    """A compacted conversation was not sealed here for this person, or its token has expired. Without it the model has no context."""


def unsealed(person: User, message: EarlierMessage) -> tuple[EarlierMessage, ...]:
    """The messages that a token contains. Reasoning that was sealed for somebody else, elsewhere or too long ago yields none.

    Raises:
        UnreadableSummaryError: a compacted conversation cannot be unsealed.
    """
    if not message.is_compacted:
        return tuple(EarlierMessage(text, is_thought=True) for text in tokens.unseal(person.pk, Purpose.REASONING, message.sealed))
    texts = tokens.unseal(person.pk, Purpose.COMPACTION, message.sealed)
    if not texts:
        raise UnreadableSummaryError
    return tuple(EarlierMessage(notes_message(text), is_compacted=True) for text in texts)


def reseal_notes(person: User, answer_id: UUID, only_key: UUID | None) -> list[str]:
    """The notes before one of this person's stored answers, sealed again, so that no program reads them. ``only_key``: see
    ``own_answers.answer_of``.

    Raises:
        NotFoundError: the person has no such answer.
    """
    turn = own_answers.answer_of(person, answer_id, only_key).turn
    before = transcripts.branch(turn.conversation, turn.continued_message or turn.question)
    frames = [transcripts.frame_of(message) for message in (*before, *transcripts.of_turn(turn))]
    notes = [notes_of(frame.body) for frame in frames if frame.header == NOTES]
    return [token for text in notes if (token := tokens.seal(person.pk, Purpose.COMPACTION, [text])) is not None]
