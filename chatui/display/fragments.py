"""Renders the parts of an exchange that open pages receive live, from the same templates as the whole page.

They go to the END_USER group of a conversation. What a model or a person wrote is in them as SafeHtml and VisibleText alone, and Django
escapes everything else, so what these templates make is as safe as a page. Their own words are in one language, the asking page's: pages in
another one fetch theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from uuid import UUID, uuid4

from django.conf import settings
from django.template.defaultfilters import date
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.html import escape
from django.utils.timezone import template_localtime  # type: ignore[attr-defined] # the stubs have forgotten it

from chatui.display.conversation import EndedTurn, ShownAnswer, ended_answer, shown_question
from chatui.display.files import documents
from chatui.env import environment
from chatui.model_servers import connected
from chatui.models import Message, SentDocument
from chatui.models.turn import TurnState
from renderer.markup.citations import Cited
from renderer.markup.html import SafeHtml


def language_of(asked: str) -> str:
    """The language that a page says it has, if the product speaks it; otherwise the instance's own."""
    return asked if asked in dict(settings.LANGUAGES) else environment().language


def question(message: Message, versions: Sequence[UUID], language: str, sent: Sequence[SentDocument] = ()) -> SafeHtml:
    """A question that was just stored. ``versions``: the keys of all its versions, this one included; empty where they were not read.
    ``sent``: the documents that came with it."""
    shown = shown_question(message, versions)
    if shown.siblings is None and not sent:
        mould = _question_mould(language, is_long=shown.is_long)
        return _filled(mould, {_MESSAGE: shown.message_id, _HTML: shown.html.html, _TEXT: escape(shown.text)})
    with translation.override(language):
        shown = replace(shown, documents=tuple(map(documents.shown, sent)))
        return _rendered("exchange/_question.html", message.conversation_id, question=shown)


def answer_end(ended: EndedTurn, language: str, sources: Sequence[Cited] = ()) -> SafeHtml:
    """What stands below the answer of a turn that has ended: at most five statements, and none where ``reads_nothing``. ``sources``: what
    it cites."""
    conversation, is_demo = ended.turn.conversation_id, connected.is_demo()
    with translation.override(language):
        answer = replace(ended_answer(ended), sources=tuple(sources))
        if (blank := _blank(answer)) is not None:
            mould = _answer_end_mould(language, blank, is_demo=is_demo)
            ids = {_CONVERSATION: str(conversation), _MESSAGE: answer.parts[0].message_id}
            return _filled(mould, ids | dict(zip(_TIMES, _times(answer.at), strict=True)))
        return _rendered("exchange/_answer_end.html", conversation, answer=answer, has_question=True, is_demo=is_demo)


def _rendered(template: str, conversation_id: object, **values: object) -> SafeHtml:
    return SafeHtml(str(render_to_string(template, {"conversation": {"id": conversation_id}, **values})))


# Nearly all of them differ in nothing but some ids and the question: they are rendered once, with these in the place of what differs.
_CONVERSATION, _MESSAGE, _HTML, _TEXT = (str(uuid4()) for _ in range(4))
_TIMES = (str(uuid4()), str(uuid4()))
_A_TIME = datetime(2001, 2, 3, 4, 5, 6, 789, tzinfo=UTC)


@lru_cache(maxsize=32)
def _question_mould(language: str, *, is_long: bool) -> SafeHtml:
    shown = {"message_id": _MESSAGE, "html": SafeHtml(_HTML), "text": _TEXT, "is_long": is_long}
    with translation.override(language):
        return _rendered("exchange/_question.html", _CONVERSATION, question=shown)


@lru_cache(maxsize=128)
def _answer_end_mould(language: str, answer: ShownAnswer, *, is_demo: bool) -> SafeHtml:
    with translation.override(language):
        mould = _rendered("exchange/_answer_end.html", _CONVERSATION, answer=answer, has_question=True, is_demo=is_demo).html
        for stand_in, time in zip(_TIMES, _times(_A_TIME), strict=True):
            mould = mould.replace(time, stand_in)
        return SafeHtml(mould)


def _times(at: datetime | None) -> tuple[str, str]:
    """A moment as the template writes it: for machines, and for people."""
    local = template_localtime(at)
    return escape(date(local, "c")), escape(date(local, "SHORT_DATETIME_FORMAT"))


def _blank(answer: ShownAnswer) -> ShownAnswer | None:
    """The answer without what differs from others like it; None where it is one of few."""
    is_plain = [part.kind for part in answer.parts] == ["final"] and answer.state == TurnState.COMPLETED
    if not is_plain or answer.notice or answer.siblings or answer.sources or answer.cards or answer.files:
        return None
    rated = answer.rated and replace(answer.rated, message_id=_MESSAGE)
    at = answer.at and _A_TIME
    return replace(answer, turn_id="", context=None, parts=(replace(answer.parts[0], message_id=_MESSAGE),), rated=rated, at=at)


def _filled(mould: SafeHtml, values: Mapping[str, str]) -> SafeHtml:
    """The mould with these in it, each of them HTML; in one step, so that nothing is looked for in what was put in."""
    return SafeHtml(_STAND_INS.sub(lambda found: values[found[0]], mould.html))


_STAND_INS = re.compile("|".join((_CONVERSATION, _MESSAGE, _HTML, _TEXT, *_TIMES)))
