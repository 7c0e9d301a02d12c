"""Renders the parts of an exchange that open pages receive live, and the blank HTML elements that scripts copy, from the page's templates.

The parts go to the END_USER group of a conversation. Text by a model or a person is in them only as SafeHtml and VisibleText, and Django
escapes everything else, so the result is as safe as a page. Their labels are in the language of the asking page: pages in another language
fetch their own.

The blank elements are an exchange, the top bar of a conversation, and a list entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID, uuid4

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.html import escape
from django.utils.timezone import template_localtime  # type: ignore[attr-defined] # the stubs have forgotten it

from chatui import wire
from chatui.display import files
from chatui.display.conversation import EndedTurn, ShownAnswer, ShownExchange, ShownPart, ShownQuestion, ended_answer, shown_question
from chatui.display.conversation_list import ConversationLink, ShownConversation
from chatui.display.folders import ShownFolder
from chatui.display.ratings import ShownRating
from chatui.env import environment
from chatui.model_servers import connected
from chatui.models.files import SentDocument
from chatui.models.message import Message
from chatui.models.turn import TurnState
from chatui.permissions import access
from renderer.gate import VisibleText
from renderer.markup import html
from renderer.markup.citations import CitableSource
from renderer.markup.html import SafeHtml


def language_of(asked: str) -> str:
    """The language that a page reports, if the product supports it; otherwise the default of this instance."""
    return asked if asked in dict(settings.LANGUAGES) else environment().language


def question(message: Message, versions: Sequence[UUID], language: str, sent: Sequence[SentDocument] = ()) -> SafeHtml:
    """A question that was just stored. ``versions``: the keys of all its versions, including this one; empty if they were not read.
    ``sent``: the documents that came with it."""
    shown = shown_question(message, versions)
    if shown.siblings is None and not sent:
        template = _question_template(language, is_long=shown.is_long)
        return _filled(template, {_MESSAGE: shown.message_id, _HTML: shown.html.html, _TEXT: escape(shown.text)})
    with translation.override(language):
        shown = replace(shown, documents=tuple(map(files.shown, sent)))
        return _rendered("exchange/_question.html", message.conversation_id, question=shown)


class Below(NamedTuple):
    """The part below an answer, as the event that ends a turn carries it; empty if pages have to fetch it."""

    html: SafeHtml | None = None
    language: str | None = None
    plain: wire.PlainEnd | None = None


def answer_end(ended: EndedTurn, language: str, sources: Sequence[CitableSource] = ()) -> Below:
    """The part below the answer of a turn that has ended. Takes at most five statements, and none if ``reads_nothing``. ``sources``: those
    that the answer cites."""
    is_demo = connected.is_demo()
    with translation.override(language):
        answer = ended_answer(ended)
        if sources:
            answer = replace(answer, sources=tuple(sources))
        if (plain := _plain(answer, is_demo=is_demo)) is not None:
            return Below(plain=plain)
        can_see_failures = answer.notice is not None and access.can_see_failures(ended.turn.asked_by)
        shown = {"answer": answer, "has_question": True, "is_demo": is_demo, "can_see_failures": can_see_failures}
        return Below(_rendered("exchange/_answer_end.html", ended.turn.conversation_id, **shown), language)


def _rendered(template: str, conversation_id: object, **values: object) -> SafeHtml:
    return SafeHtml(str(render_to_string(template, {"conversation": {"id": conversation_id}, **values})))


# Nearly all questions differ only in an id and the text, so one is rendered once, with these placeholders instead.
_MESSAGE, _HTML, _TEXT = (str(uuid4()) for _ in range(3))


@lru_cache(maxsize=32)
def _question_template(language: str, *, is_long: bool) -> SafeHtml:
    shown = {"message_id": _MESSAGE, "html": SafeHtml(_HTML), "text": _TEXT, "is_long": is_long}
    with translation.override(language):
        return _rendered("exchange/_question.html", "", question=shown)


def _plain(answer: ShownAnswer, *, is_demo: bool) -> wire.PlainEnd | None:
    """The fields in which a plain answer differs from others; None if the answer is not plain. Pages have the rest as a template, made from
    ``plain_answer``."""
    is_plain = [part.kind for part in answer.parts] == ["final"] and answer.state == TurnState.COMPLETED and answer.at
    has_more = answer.notice or answer.siblings or answer.sources or answer.cards or answer.files
    if not is_plain or has_more or answer.continuation or answer.turns_left_out or (answer.is_scripted and not is_demo):
        return None
    names = dict.fromkeys(name for name in (answer.label, answer.model) if name)
    at = template_localtime(answer.at).isoformat()
    return wire.PlainEnd(answer.parts[0].message_id, at, tuple(names), rated=answer.rated is not None)


def _filled(template: SafeHtml, values: Mapping[str, str]) -> SafeHtml:
    """Fill the template with these values, each of them HTML. In one pass, so that inserted text is never searched for placeholders."""
    return SafeHtml(_PLACEHOLDERS.sub(lambda found: values[found[0]], template.html))


_PLACEHOLDERS = re.compile("|".join((_MESSAGE, _HTML, _TEXT)))


_PLACEHOLDER_ID = str(UUID(int=0))
"""The placeholder id in their addresses. Scripts replace it with the real one (``static/js/page/dom.js``)."""
_BLANK_ANSWER = ShownAnswer(
    turn_id="",
    state=TurnState.RUNNING,
    parts=(),
    notice=None,
    siblings=None,
    thought=None,
    label="",
    model="",
    is_scripted=False,
    turns_left_out=0,
    context=None,
    continuation="",
)


def blank_exchange() -> ShownExchange:
    """An empty exchange, for a new message."""
    nothing = VisibleText.joined([])
    return ShownExchange(ShownQuestion("", html.plain(nothing), nothing, None), _BLANK_ANSWER)


def plain_answer() -> ShownAnswer:
    """A typical completed answer, for the part below it. It has every element that differs between such answers (``wire.PlainEnd``)."""
    part, rated = ShownPart(_PLACEHOLDER_ID, "final", ()), ShownRating(_PLACEHOLDER_ID)
    return replace(_BLANK_ANSWER, state=TurnState.COMPLETED, parts=(part,), model="-", rated=rated, at=timezone.now())


def blank_conversation() -> ShownConversation:
    """A conversation that does not exist yet, for the top bar of the page that starts it."""
    return ShownConversation(_PLACEHOLDER_ID, "", reverse("conversation", args=[_PLACEHOLDER_ID]), "")


def blank_link() -> ConversationLink:
    """An entry of the list, for a conversation that is added while the page is open."""
    return ConversationLink(_PLACEHOLDER_ID, "", timezone.now(), reverse("conversation", args=[_PLACEHOLDER_ID]), is_imported=True)


def blank_folder() -> ShownFolder:
    """A folder that is created while the page is open."""
    return ShownFolder(_PLACEHOLDER_ID, "")
