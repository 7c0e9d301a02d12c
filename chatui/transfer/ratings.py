"""Exports ratings as JSON lines for evaluation or training: each with the conversation up to the rated answer.

No line names the rater. Without the permission for hidden channels, a line contains only what the rater could see.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from chatui.audit_log.lines import filters_in_words
from chatui.audit_log.record import Visitor, record
from chatui.backends.spec import split_choice
from chatui.models.conversation import Conversation
from chatui.models.debug_requests import DebugRequest
from chatui.models.message import Message
from chatui.models.ratings import DOWN, Rating
from chatui.permissions.ratings import EXPORT, HIDDEN_EXPORT
from chatui.store import document_headers, transcripts
from renderer.errors import OpenChatMLError
from renderer.frame_kinds import PRODUCT_NAMES, is_document
from renderer.frames import Role, Transcript
from renderer.gate import Audience
from renderer.harmony import prompt
from renderer.harmony.prompt import NoExampleError, SystemMessage
from renderer.ocml import document

_KEPT_KEYS = ("profiles", "capabilities", document_headers.IMPORTED, document_headers.IMPORTED_FROM)
"""Keys of a document header that describe how to read a document, not who wrote it."""


class RatingFormat(StrEnum):
    """How the conversation in a line is written."""

    OPENCHATML = "openchatml"
    HARMONY = "harmony"


@dataclass(frozen=True, slots=True)
class RatingFilters:
    """Selects ratings: from ``since`` to before ``before`` (UTC), by thumb, and by the model and model server of the answer.

    Empty fields select all.
    """

    since: datetime | None = None
    before: datetime | None = None
    verdict: str = ""
    model: str = ""
    backend: str = ""

    def __str__(self) -> str:
        return filters_in_words(self, [field.name for field in fields(self)]) or "all"


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options of an export. ``reason``: why hidden channels are included; only with ``ratings.hidden_exporter``, or for the
    operator in the shell."""

    filters: RatingFilters
    format: RatingFormat = RatingFormat.OPENCHATML
    has_hidden: bool = False
    reason: str = ""


def count(filters: RatingFilters) -> int:
    return _rows(filters).count()


@dataclass(frozen=True, slots=True)
class RatingSums:
    """What a period's ratings come to: good and bad ones for each model, the most rated first, and the reasons of bad ones by their keys,
    the most frequent first. A model without a name is empty."""

    models: tuple[tuple[str, int, int], ...]
    reasons: tuple[tuple[str, int], ...]

    @property
    def good(self) -> int:
        return sum(good for _, good, _ in self.models)

    @property
    def bad(self) -> int:
        return sum(bad for _, _, bad in self.models)


def sums(filters: RatingFilters) -> RatingSums:
    """The numbers of good and bad ratings by model, and of bad ones by reason, in two statements. Nothing that anybody wrote is read."""
    rows = _rows(filters).order_by()
    is_bad = Q(verdict=DOWN)
    model = Coalesce("message__turn__model", Value(""))
    models = rows.values_list(model).annotate(good=Count("pk", filter=~is_bad), bad=Count("pk", filter=is_bad))
    reasons = rows.filter(is_bad).values_list("reason").annotate(times=Count("pk"))
    return RatingSums(
        tuple(sorted(models, key=lambda row: (-row[1] - row[2], row[0]))), tuple(sorted(reasons, key=lambda row: (-row[1], row[0])))
    )


def export(visitor: Visitor, options: ExportOptions) -> Iterator[str]:
    """The lines of the selected ratings, oldest first, one at a time. The export is recorded before anything is read. With hidden channels,
    each conversation gets its own line in the audit log, and its owner gets a notice, as for a debug view. The line is written right before
    the conversation is read, so that the log is never locked for long. If writing it fails, a database error ends the export.
    """
    keys = list(_rows(options.filters).values_list("pk", flat=True))
    record(HIDDEN_EXPORT if options.has_hidden else EXPORT, visitor, detail=f"{options.format}, {len(keys)}: {options.filters}")
    return _lines(keys, visitor, options)


def _rows(filters: RatingFilters) -> QuerySet[Rating]:
    """The matching ratings, without those of deleted, unfinished or temporary conversations, which nobody may export."""
    existing = {"deleted_at": None, "unfinished_until": None, "temporary_until": None}
    rows = Rating.objects.filter(**{f"message__conversation__{name}": value for name, value in existing.items()})
    chosen = {
        "rated_at__gte": filters.since,
        "rated_at__lt": filters.before,
        "verdict": filters.verdict,
        "message__turn__model": filters.model,
    }
    rows = rows.filter(**{name: value for name, value in chosen.items() if value}).order_by("rated_at", "pk")
    # A turn has the model server's name only at the beginning of its choice; the column ``backend`` has its address.
    by_name = Q(message__turn__choice=filters.backend) | Q(message__turn__choice__startswith=f"{filters.backend}/")
    return rows.filter(by_name) if filters.backend else rows


def _lines(keys: list[UUID], visitor: Visitor, options: ExportOptions) -> Iterator[str]:
    recorded: set[UUID] = set()
    for key in keys:
        # Read one by one, because a rating may be removed meanwhile, or its conversation deleted.
        found = _rows(RatingFilters()).select_related("message__turn", "message__conversation__owner").defer("message__turn__request")
        row = found.filter(pk=key).first()
        if row is None:
            continue
        conversation = row.message.conversation
        if options.has_hidden and conversation.pk not in recorded:
            _record_reading(visitor, conversation, options.reason)
            recorded.add(conversation.pk)
        if (values := _line_values(row, options)) is not None:
            yield json.dumps(values, ensure_ascii=False) + "\n"


def _record_reading(visitor: Visitor, conversation: Conversation, reason: str) -> None:
    """Write to the audit log in a separate short transaction, because the log stays locked until the transaction ends."""
    now = timezone.now()
    with transaction.atomic():
        record(HIDDEN_EXPORT, visitor, conversation, detail=reason)
        if visitor.user is not None:
            # Access notices are made from debug views, so this is stored as a debug view that was closed at once.
            DebugRequest.objects.create(
                conversation=conversation, person=visitor.user, reason=reason, minutes=0, expires_at=now, closed_at=now
            )


def _line_values(row: Rating, options: ExportOptions) -> dict[str, object] | None:
    text = _conversation(row.message, options)
    if text is None:
        return None
    answer, turn = row.message, row.message.turn
    return {
        "verdict": row.verdict,
        "reason": row.reason,
        "note": row.note,
        "rated_at": row.rated_at.isoformat(timespec="seconds"),
        "conversation": str(answer.conversation_id),
        "answer": str(answer.pk),
        "model": turn.model if turn else "",
        "backend": split_choice(turn.choice)[0] if turn else "",
        "effort": turn.effort if turn else "",
        "is_complete": answer.is_complete,
        options.format.value: text,
    }


def _conversation(answer: Message, options: ExportOptions) -> str | None:
    """The branch up to the answer; None if it cannot be an example, because the answer was cut off or a header cannot be written."""
    branch = transcripts.branch(answer.conversation, answer)
    if not options.has_hidden:
        # A summary of the reasoning was made for the person who asked, as in share links.
        branch = [message for message in branch if message.name not in PRODUCT_NAMES]
    if options.format is RatingFormat.HARMONY:
        # No model should learn reasoning that ends in the middle of a thought.
        branch = [message for message in branch if message.is_complete or message.is_visible]
    found = transcripts.transcript(answer.conversation, branch, Audience.DEBUG if options.has_hidden else Audience.END_USER)
    if not options.has_hidden:
        found = _without_names(found, answer.turn.model if answer.turn else "")
    if options.format is RatingFormat.OPENCHATML:
        return document.dump(found)
    turn = answer.turn
    if turn is None or not answer.is_complete:
        return None
    try:
        return prompt.example(found.frames, SystemMessage(date=turn.started_at.date().isoformat(), effort=turn.effort))
    except (NoExampleError, OpenChatMLError):
        return None


def _without_names(found: Transcript, model: str) -> Transcript:
    """The transcript without names of people: an imported document may name its author and the people in it."""
    frames = (
        replace(frame, header=replace(frame.header, name=None))
        if frame.header.role == Role.USER and not is_document(frame.header)
        else frame
        for frame in found.frames
    )
    settings = {name: value for name, value in found.settings.items() if name in document_headers.SAMPLING_SETTINGS}
    extra = {name: value for name, value in found.extra.items() if name in _KEPT_KEYS}
    return replace(found, frames=tuple(frames), model=model or None, settings=settings, extra=extra)
