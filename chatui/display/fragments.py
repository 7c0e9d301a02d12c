"""Renders the parts of an exchange that open pages receive live, from the page's templates.

The parts go to the END_USER group of a conversation. Text by a model or a person is in them only as SafeHtml and VisibleText, and Django
escapes everything else, so the result is as safe as a page. Their labels are in the language of the asking page: pages in another language
fetch their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from django.template.loader import render_to_string
from django.utils import translation

from chatui import wire
from chatui.display import files
from chatui.display.conversation import EndedTurn, ended_answer, shown_question
from chatui.display.conversation_list import address
from chatui.env import environment
from chatui.models.files import SentDocument
from chatui.models.message import Message
from chatui.permissions import access
from chatui.site.languages import LANGUAGES
from renderer.markup.citations import CitableSource
from renderer.markup.html import SafeHtml


def language_of(asked: str) -> str:
    """The language that a page reports, if the product supports it; otherwise the default of this instance."""
    return asked if asked in LANGUAGES else environment().language


def question(message: Message, versions: Sequence[UUID], language: str, sent: Sequence[SentDocument] = ()) -> SafeHtml:
    """A question that was just stored. ``versions``: the keys of all its versions, including this one; empty if they were not read.
    ``sent``: the documents that came with it."""
    with _in_language(language):
        shown = shown_question(message, versions, tuple(map(files.shown, sent)))
        return _rendered("exchange/_question.html", message.conversation_id, question=shown)


class AnswerFooter(NamedTuple):
    """The part below an answer, as the event that ends a turn carries it; empty if pages have to fetch it."""

    row: wire.AnswerRow | None = None
    html: SafeHtml | None = None
    language: str | None = None


def answer_end(ended: EndedTurn, language: str, sources: Sequence[CitableSource] = ()) -> AnswerFooter:
    """The part below the answer of a turn that has ended. Takes at most five statements, and none if ``reads_nothing``. ``sources``: those
    that the answer cites."""
    with _in_language(language):
        answer = ended_answer(ended)
        if sources:
            answer = replace(answer, sources=tuple(sources))
        if not (answer.files or answer.sources or answer.notice or answer.siblings):
            return AnswerFooter(answer.row, None, language)
        can_see_failures = answer.notice is not None and access.can_see_failures(ended.turn.asked_by)
        shown = {"answer": answer, "can_see_failures": can_see_failures}
        return AnswerFooter(answer.row, _rendered("exchange/_answer_end.html", ended.turn.conversation_id, **shown), language)


def _in_language(language: str) -> AbstractContextManager[None]:
    """Have texts in this language. Nothing needs to change if it is in force already, as that of the instance mostly is."""
    return nullcontext() if translation.get_language() == language else translation.override(language)


def _rendered(template: str, conversation_id: UUID, **values: object) -> SafeHtml:
    return SafeHtml(str(render_to_string(template, {"conversation": {"url": address(conversation_id)}, **values})))
