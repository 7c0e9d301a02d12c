"""Finds all versions of a question, also those with other documents before them.

All versions share one message, the ``base``, above their documents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from django.db.models import Q

from chatui.models.conversation import Conversation
from chatui.models.files import SentDocument
from chatui.models.message import Message
from chatui.store import transcripts
from renderer.frame_kinds import is_document


def base_of(question: Message) -> UUID | None:
    """The key of the message above the documents of a question, or above the question if it has none. One statement."""
    return _above([question.parent_id]).get(question.parent_id, question.parent_id)


def of_questions(
    conversation: Conversation,
    questions: Collection[Message],
    children: Mapping[UUID | None, Collection[Message]],
    with_documents: Collection[UUID],
) -> Mapping[UUID, list[UUID]]:
    """The keys of all versions of each question, in the order in which they were stored.

    ``children``: those of the questions' parents. ``with_documents``: the keys of questions with documents. No statement if there are none,
    otherwise a few.
    """
    above = _above(question.parent_id for question in questions if question.pk in with_documents)
    bases = {question.pk: above.get(question.parent_id, question.parent_id) for question in questions}
    wanted = set(above.values()) | {base for base in bases.values() if any(map(_is_document, children.get(base, ())))}
    beside = _beside(conversation, wanted) if wanted else {}
    found = {}
    for key, base in bases.items():
        rows = [each for each in (beside[base] if base in beside else children[base]) if _is_question(each)]
        found[key] = [each.pk for each in sorted(rows, key=lambda each: each.position)]
    return found


def _above(ends: Iterable[UUID | None]) -> dict[UUID | None, UUID | None]:
    """The message above the first document of a question, by its last document."""
    keys = set(ends)
    found: dict[UUID | None, UUID | None] = {}
    if keys:
        rows = SentDocument.objects.filter(end__in=keys).order_by("message__position")
        for end, parent in rows.values_list("end", "message__parent"):
            found.setdefault(end, parent)
    return found


def _beside(conversation: Conversation, bases: Collection[UUID | None]) -> dict[UUID | None, list[Message]]:
    """The questions below each base, or below its documents."""
    where = Q(message__parent__in=[base for base in bases if base is not None])
    if None in bases:
        where |= Q(message__parent=None)
    rows = SentDocument.objects.filter(where, message__conversation=conversation)
    ends: dict[UUID, UUID | None] = dict(rows.values_list("end", "message__parent"))
    found = transcripts.siblings(conversation, set(bases) | set(ends))
    beside = {base: list(found[base]) for base in bases}
    for end, base in ends.items():
        beside[base].extend(found[end])
    return beside


def _is_question(message: Message) -> bool:
    return message.role == "user" and message.is_visible


def _is_document(message: Message) -> bool:
    return is_document(transcripts.header_of(message))
