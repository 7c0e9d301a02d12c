"""The data for the blank HTML elements that scripts copy: an exchange, the top bar of a conversation, a list entry."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from django.urls import reverse
from django.utils import timezone

from chatui.display.conversation import ShownAnswer, ShownExchange, ShownPart, ShownQuestion
from chatui.display.conversation_links import ConversationLink, ShownConversation
from chatui.display.folders.folder_list import ShownFolder
from chatui.display.ratings.rating_buttons import ShownRating
from chatui.models.turn import TurnState
from renderer.gate import VisibleText
from renderer.markup import html

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
