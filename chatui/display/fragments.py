"""The parts of an exchange that open pages are sent while they follow it, rendered from the templates of the page itself.

They go to the END_USER group of a conversation. What a model or a person wrote is in them as SafeHtml and VisibleText alone, and Django
escapes everything else, so what these templates make is as safe as a page. Their own words are in one language, the asking page's: pages in
another one fetch theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from chatui.display.conversation import ShownPart, ended_answer, shown_question
from chatui.display.files import documents
from chatui.env import environment
from chatui.model_servers import connected
from chatui.models import Message, SentDocument, Turn
from renderer.markup.citations import Cited
from renderer.markup.html import SafeHtml


def language_of(asked: str) -> str:
    """The language that a page says it has, if the product speaks it; otherwise the instance's own."""
    return asked if asked in dict(settings.LANGUAGES) else environment().language


def question(message: Message, versions: Sequence[UUID], language: str, sent: Sequence[SentDocument] = ()) -> SafeHtml:
    """A question that was just stored. ``versions``: the keys of all its versions, this one included; empty where they were not read.
    ``sent``: the documents that came with it."""
    with translation.override(language):
        shown = replace(shown_question(message, versions), documents=tuple(map(documents.shown, sent)))
        return _rendered("exchange/_question.html", message.conversation_id, question=shown)


def answer_end(turn: Turn, parts: Sequence[ShownPart], language: str, *, is_first: bool, sources: Sequence[Cited] = ()) -> SafeHtml:
    """What stands below the answer of a turn that has ended: at most five statements. See ``ended_answer``. ``sources``: what it cites."""
    with translation.override(language):
        answer = replace(ended_answer(turn, parts, is_first=is_first), sources=tuple(sources))
        return _rendered("exchange/_answer_end.html", turn.conversation_id, answer=answer, has_question=True, is_demo=connected.is_demo())


def _rendered(template: str, conversation_id: UUID, **values: object) -> SafeHtml:
    return SafeHtml(str(render_to_string(template, {"conversation": {"id": conversation_id}, **values})))
