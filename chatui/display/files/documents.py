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
    """A document chip. ``id``: that of its file; empty if its owner has deleted it. ``size`` in bytes. ``use_text``: how much of it the
    model got, in words."""

    id: str
    name: str = field(repr=False)
    size: int = 0
    use_text: str = ""


def of_questions(questions: Collection[Message], loaded: Collection[UUID]) -> Mapping[UUID, tuple[ShownDocument, ...]]:
    """By question, the documents that came with it. ``loaded``: the keys of all messages that were read, which are not documents; a
    question directly after one of them has none. At most one statement; none for a branch that was read from its start and has none."""
    rows = attached.of_questions([question for question in questions if question.parent_id not in loaded])
    return {key: tuple(map(shown, documents)) for key, documents in rows.items()}


def shown(row: SentDocument) -> ShownDocument:
    """The chip of a document. ``row`` must come with its file and the file's content."""
    if row.file is None:
        return ShownDocument("", "")
    return ShownDocument(str(row.file.pk), row.file.name, row.file.content.size, _use_text(row))


def _use_text(row: SentDocument) -> str:
    tokens = about(row.tokens)
    match row.use:
        case DocumentUse.PLACES:
            return _("%(places)s only, %(tokens)s") % {"places": row.places, "tokens": tokens}
        case DocumentUse.FIRST:
            return _("the beginning, %(tokens)s") % {"tokens": tokens}
        case DocumentUse.SEARCH:
            return _("search only")
    return tokens


def about(tokens: int) -> str:
    """The approximate number of tokens, in words."""
    if tokens >= 1000:
        # A thousand tokens are many: the form of the word depends on their number, not on the figure before the "k".
        return ngettext("about %(count)dk token", "about %(count)dk tokens", tokens) % {"count": round(tokens / 1000)}
    return ngettext("about %(count)d token", "about %(count)d tokens", tokens) % {"count": tokens}
