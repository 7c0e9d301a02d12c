"""Prepares a question's documents as chips below it, for the conversation's owner only. No page contains their text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatui.models import Message, SentDocument
from chatui.models.files.document import DocumentUse
from chatui.store.documents import attached


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document chip. ``id`` of its file; empty where its owner has deleted it. ``size`` in bytes. ``said``: what the model was given
    of it."""

    id: str
    name: str = field(repr=False)
    size: int = 0
    said: str = ""


def of_questions(questions: Collection[Message], loaded: Collection[UUID]) -> Mapping[UUID, tuple[ShownDocument, ...]]:
    """By question, the documents that came with it. ``loaded``: the keys of all messages that were read, without documents: what stands
    behind one of them came with none. At most one statement, and none in a branch that is there from its beginning and has none."""
    rows = attached.of_questions([question for question in questions if question.parent_id not in loaded])
    return {key: tuple(map(shown, documents)) for key, documents in rows.items()}


def shown(row: SentDocument) -> ShownDocument:
    """One of them. ``row`` comes with its file and the content of that."""
    if row.file is None:
        return ShownDocument("", "")
    return ShownDocument(str(row.file.pk), row.file.name, row.file.content.size, _said(row))


def _said(row: SentDocument) -> str:
    tokens = about(row.tokens)
    match row.use:
        case DocumentUse.PLACES:
            return _("%(places)s only, %(tokens)s") % {"places": row.places, "tokens": tokens}
        case DocumentUse.FIRST:
            return _("the beginning, %(tokens)s") % {"tokens": tokens}
        case DocumentUse.SEARCH:
            return _("to be searched")
    return tokens


def about(tokens: int) -> str:
    """About how many tokens, as people say it."""
    if tokens >= 1000:
        return ngettext("about %(count)dk token", "about %(count)dk tokens", round(tokens / 1000)) % {"count": round(tokens / 1000)}
    return ngettext("about %(count)d token", "about %(count)d tokens", tokens) % {"count": tokens}
