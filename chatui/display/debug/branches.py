"""Lists the branches of a conversation: every path through its tree, and not only the one that its owner has open."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from chatui.display.debug.values import Branch
from chatui.models import Conversation, Message
from chatui.store import transcripts
from renderer.gate import Audience, VisibleText, as_debug_text, show

MAX_LISTED = 100
_QUESTION_CHARS = 60


def listed_branches(row: Conversation, shown: Message | None) -> tuple[tuple[Branch, ...], int]:
    """The branches, oldest first, and how many of the oldest are left out."""
    rows = list(row.messages.order_by("position").values_list("pk", "parent_id", "position", "created_at", "role", "is_visible"))
    above = {key: (parent, role == "user" and is_visible) for key, parent, _, _, role, is_visible in rows}
    parents = {parent for _, parent, *_ in rows}
    leaves = [(key, position, kept_at) for key, _, position, kept_at, *_ in rows if key not in parents]
    newest = leaves[-MAX_LISTED:]
    questions = {key: _question_above(key, above) for key, *_ in newest}
    words = _words(row, {question for question in questions.values() if question})
    owners = transcripts.active_leaf(row, row.owner)
    found = tuple(
        Branch(
            leaf_id=str(key),
            number=number,
            ends_at=position,
            kept_at=kept_at,
            question=words.get(questions[key]) or as_debug_text(""),
            is_shown=shown is not None and key == shown.pk,
            is_owners=owners is not None and key == owners.pk,
        )
        for number, (key, position, kept_at) in enumerate(newest, start=len(leaves) - len(newest) + 1)
    )
    return found, len(leaves) - len(newest)


def _question_above(key: UUID, above: Mapping[UUID, tuple[UUID | None, bool]]) -> UUID | None:
    step: UUID | None = key
    while step is not None:
        parent, is_question = above[step]
        if is_question:
            return step
        step = parent
    return None


def _words(row: Conversation, questions: set[UUID]) -> dict[UUID | None, VisibleText]:
    found: dict[UUID | None, VisibleText] = {}
    for message in row.messages.filter(pk__in=questions):
        text = show(transcripts.frame_of(message), Audience.DEBUG)
        found[message.pk] = as_debug_text(transcripts.title_of(text, _QUESTION_CHARS))
    return found
