"""Prepares the files that tools made. They are shown below an answer to its owner only, never through a share link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from chatui.models import Conversation, Message, StoredFile, Turn
from chatui.permissions import access
from chatui.store.files import reading
from renderer.frames import Terminator

_VERSION_CHARS = 8
"""How many characters of the content's digest are used."""


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file below an answer. ``size`` in bytes. ``version``: changes with the content, so that no browser shows an old picture from its
    cache. ``is_picture``: it has a format that is shown in place, and is not too large for a browser."""

    id: str
    name: str = field(repr=False)
    size: int
    version: str
    is_picture: bool


def of_messages(messages: Iterable[Message]) -> Mapping[UUID, tuple[ShownFile, ...]]:
    """By turn, the files of the turns that wrote these messages. Only calls make files: without a call nothing is read, otherwise this
    takes one statement."""
    turns = {message.turn_id for message in messages if message.terminator == Terminator.CALL and message.turn_id}
    return {key: tuple(map(_shown, files)) for key, files in reading.of_turns(turns).items()}


def of_turn(row: Conversation, turn_id: UUID) -> tuple[ShownFile, ...]:
    """The files of a turn in this conversation.

    Raises:
        NotFoundError: the conversation has no such turn.
    """
    turn = access.turn_of(row, turn_id)
    return tuple(map(_shown, reading.of_turns([turn.pk]).get(turn.pk, ())))


def of_ended(turn: Turn, messages: Iterable[Message]) -> tuple[ShownFile, ...]:
    """The files of an answer that has just ended: those of its last turn, which has these messages, and of the turns that it continued."""
    found = of_messages(messages)
    if turn.continued_message is not None and (files := reading.of_question(turn.question_id)):
        rows = Turn.objects.filter(question=turn.question_id).select_related("continued_message").defer("request")
        before = list(_before(turn.continued_message, {row.pk: row for row in rows}))
        return tuple(_shown(file) for key in (*reversed(before), turn.pk) for file in files.get(key, ()))
    return found.get(turn.pk, ())


def _before(cut: Message, turns: Mapping[UUID, Turn]) -> Iterable[UUID]:
    """The turns that wrote an answer up to this message, last one first."""
    at: Message | None = cut
    while at is not None and (turn := turns.get(at.turn_id) if at.turn_id else None) is not None:
        yield turn.pk
        at = turn.continued_message


def _shown(file: StoredFile) -> ShownFile:
    return ShownFile(str(file.pk), file.name, file.content.size, file.content.sha256[:_VERSION_CHARS], file.content.width is not None)
