"""Prepares all answers to one question, for a page that shows them side by side.

Regenerate and *Another model* are one command: the new answer is a sibling of the old one. The address of the page names the question, so a
reload shows all of them again. Choosing an answer opens its branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from chatui.display.conversation import ShownAnswer, shown_answer
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn
from chatui.permissions import access
from chatui.store import transcripts
from chatui.store.exchanges import Versions

MAX_VERSIONS = 12
"""The most answers to show; these are the newest. Each may be long."""
_MAX_IMPORTED_FRAMES = 50
"""The most frames to collect for an imported answer, which has no turn."""


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """One of the answers."""

    index: int
    """Counts from 1, in the order in which they started."""
    message_id: str
    """Opens the branch that it is on."""
    answer: ShownAnswer


@dataclass(frozen=True, slots=True)
class ShownVersions:
    """The newest answers to a question, newest first, and how many there are in all."""

    count: int
    versions: Sequence[ShownVersion]


_Version = tuple[str, Callable[[], Sequence[Message]]]
"""The key of its first or last message, and what reads all of its messages."""


def shown_versions(row: Conversation, question: Message) -> ShownVersions:
    """All answers to a question that have a message."""
    if not question.is_question:
        raise access.NotFoundError
    known = Versions([question.pk])
    ends = known.ends(question)
    # If one was continued, they may branch off anywhere below the question, so each is read from its end upward.
    versions = [(str(end.pk), partial(_path_to, row, question, end)) for end in ends] if ends else _not_continued(row, question)
    shown: list[ShownVersion] = []
    for index in range(len(versions), max(len(versions) - MAX_VERSIONS, 0), -1):
        key, read = versions[index - 1]
        answer = shown_answer(row, [question, *read()], known)
        if answer is not None:
            shown.append(ShownVersion(index, key, answer))
    return ShownVersions(len(versions), shown)


def _path_to(row: Conversation, question: Message, end: Message) -> Sequence[Message]:
    return transcripts.branch(row, end, since=question.pk)[1:]


def _not_continued(row: Conversation, question: Message) -> list[_Version]:
    """The answers if none was continued. Each is what one turn wrote; imported ones have no turn, and each starts at a child of the
    question."""
    found: dict[object, _Version] = {}
    for child in transcripts.siblings(row, {question.pk})[question.pk]:
        if not child.is_question:
            read = partial(_of_turn, child.turn_id) if child.turn_id else partial(_imported, row, child)
            found.setdefault(child.turn_id or child.pk, (str(child.pk), read))
    return list(found.values())


def _of_turn(turn_id: UUID) -> Sequence[Message]:
    turn = Turn.objects.defer("request").get(pk=turn_id)
    return list(turn.messages.select_related("turn").defer("turn__request").order_by("position"))


def _imported(row: Conversation, first: Message) -> Sequence[Message]:
    keys, last = [first.pk], first
    while len(keys) < _MAX_IMPORTED_FRAMES:
        below = transcripts.siblings(row, {last.pk})[last.pk]
        if not below or below[-1].is_question:
            break
        last = below[-1]
        keys.append(last.pk)
    return transcripts.loaded(row, keys)
