"""Prepares the files that tools made, shown below an answer to its owner only, never through a share link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from chatui.models import Conversation, Message, StoredFile, Turn
from chatui.permissions import access
from chatui.store.files import reading
from renderer.frames import Terminator

_VERSION_CHARS = 8
"""Of the digest of its content."""


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file below an answer. ``size`` in bytes. ``version``: another one where its content is another, so that no browser takes an old
    picture for the new one. ``is_picture``: of a format that is shown in place, and no larger than a browser can bear."""

    id: str
    name: str = field(repr=False)
    size: int
    version: str
    is_picture: bool


def of_messages(messages: Iterable[Message]) -> Mapping[UUID, tuple[ShownFile, ...]]:
    """By turn, the files of the turns that wrote these messages. Files come of calls: without one nothing is read, otherwise one
    statement."""
    turns = {message.turn_id for message in messages if message.terminator == Terminator.CALL and message.turn_id}
    return {key: tuple(map(_shown, files)) for key, files in reading.of_turns(turns).items()}


def of_turn(row: Conversation, turn_id: UUID) -> tuple[ShownFile, ...]:
    """The files of a turn in this conversation. NotFoundError where there is no such turn."""
    turn = access.turn_of(row, turn_id)
    return tuple(map(_shown, reading.of_turns([turn.pk]).get(turn.pk, ())))


def of_ended(turn: Turn, messages: Iterable[Message]) -> tuple[ShownFile, ...]:
    """The files of an answer that has just ended: of its last turn, whose messages these are, and of those that it continued."""
    found = of_messages(messages)
    if turn.continued_message is not None and (files := reading.of_question(turn.question_id)):
        rows = Turn.objects.filter(question=turn.question_id).select_related("continued_message").defer("request")
        before = list(_before(turn.continued_message, {row.pk: row for row in rows}))
        return tuple(_shown(file) for key in (*reversed(before), turn.pk) for file in files.get(key, ()))
    return found.get(turn.pk, ())


def _before(cut: Message, turns: Mapping[UUID, Turn]) -> Iterable[UUID]:
    """The turns that wrote an answer up to this message, the last one first."""
    at: Message | None = cut
    while at is not None and (turn := turns.get(at.turn_id) if at.turn_id else None) is not None:
        yield turn.pk
        at = turn.continued_message


def _shown(file: StoredFile) -> ShownFile:
    return ShownFile(str(file.pk), file.name, file.content.size, file.content.sha256[:_VERSION_CHARS], file.content.width is not None)
