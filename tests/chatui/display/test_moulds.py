"""HTML templates rendered once and filled by scripts (moulds): the result equals the HTML rendered each time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.html import escape

from chatui.backends.demo import DemoBackend
from chatui.display import conversation, fragments
from chatui.display.conversation import EndedTurn, ShownPart, ended_answer, shown_question
from chatui.display.fragments import blank_conversation, plain_answer
from chatui.model_servers import connected
from chatui.models.conversation import Conversation
from chatui.models.message import Message
from chatui.models.turn import Turn, TurnState
from chatui.models.user import User
from tests.chatui.conftest import store
from tests.chatui.turns.test_turns import ask

pytestmark = pytest.mark.django_db

WORDS = ("What is 2 + 2?", "<b>&amp;\"'</b> \\1 \\g<0> {{ x }} $0", "long\n" * 400, "한국어")


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    fragments._question_template.cache_clear()
    yield
    fragments._question_template.cache_clear()


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    render = render_to_string

    def recorded(template: str, values: dict[str, Any]) -> Any:
        found.append(template)
        return render(template, values)

    monkeypatch.setattr(fragments, "render_to_string", recorded)
    return found


def turn_of(person: User, text: str = "Hello", **columns: object) -> Turn:
    turn = store(person, ask(text=text)).turn
    ended = {"state": TurnState.COMPLETED, "model": "a-model", "finished_at": timezone.now()}
    for name, value in (ended | columns).items():
        setattr(turn, name, value)
    return turn


def below(turn: Turn, language: str = "en") -> tuple[fragments.Below, str]:
    """The HTML as sent in an event, and as rendered by the page's template."""
    ended = EndedTurn(turn, [ShownPart(str(turn.question_id), "final", ())], is_first=True, written=[])
    with translation.override(language):
        shown = {"answer": ended_answer(ended), "has_question": True, "is_demo": False}
        page = fragments._rendered("exchange/_answer_end.html", turn.conversation_id, **shown)
    return fragments.answer_end(ended, language), page.html


def filled(plain: dict[str, Any], conversation: object, language: str = "en") -> str:
    """The HTML that the page's script makes from its own template: ``static/js/exchange/answer-end.js``."""
    with translation.override(language):
        shown = {"conversation": blank_conversation(), "answer": plain_answer(), "has_question": True}
        piece = str(render_to_string("exchange/_answer_end.html", shown))
    nobody = str(UUID(int=0))
    piece = piece.replace(f"/{nobody}/messages/{nobody}/", f"/{conversation}/messages/{plain['message_id']}/")
    assert nobody not in piece
    names = "\n".join(f"<span>{escape(name)}</span>" for name in plain["names"])
    piece, count = re.subn(r"(?<=answer-facts\">\n)<span>-</span>", lambda _: names, piece)
    piece, times = re.subn(r'(?<=datetime=")[^"]+', plain["at"], piece)
    assert (count, times) == (1, 1)
    return piece if plain["rated"] else re.sub(r'<span class="thumbs".*?</span>', "", piece, flags=re.S)


def without_clock(html: str) -> str:
    """Remove the time, which the page writes in the user's time zone, and insignificant white space."""
    return " ".join(re.sub(r"(<time [^>]*>)[^<]*", r"\1", html).split())


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_question_from_its_mould_equals_the_rendered_one(ada: User, rendered: list[str], language: str) -> None:
    messages: list[Message] = [turn_of(ada, text).question for text in WORDS]
    moulded = [fragments.question(message, (), language).html for message in messages]
    assert len(rendered) == 2, "a short one and a long one"
    with translation.override(language):
        for message, html in zip(messages, moulded, strict=True):
            assert html == fragments._rendered("exchange/_question.html", message.conversation_id, question=shown_question(message)).html


@pytest.mark.parametrize("language", ["en", "de", "ko", "zh-hans"])
def test_the_end_of_an_answer_equals_the_rendered_one(
    ada: User, rendered: list[str], monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setattr(connected, "is_demo", lambda: False)
    temporary = turn_of(ada)
    temporary.conversation = Conversation(pk=temporary.conversation_id, owner=ada, temporary_until=timezone.now())
    turns = [turn_of(ada), turn_of(ada, model="<b>another</b>"), turn_of(ada, model=""), temporary]
    for turn in turns:
        sent, page = below(turn, language)
        assert sent.html is None and sent.language is None and sent.plain is not None
        plain = sent.plain.as_json()
        assert without_clock(filled(plain, turn.conversation_id, language)) == without_clock(page)
        assert ("thumbs" in page) is (turn is not temporary)
        assert str(turn.question_id) in page and len(str(plain)) < 200
    assert len(rendered) == len(turns), "those of the comparison"


def test_back_ends_are_listed_once_each_before_their_models(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connected, "is_demo", lambda: False)
    monkeypatch.setattr(conversation, "_labels", lambda: {"one": "The first", "two": "a-model"})
    for choice, names in (("one", ("The first", "a-model")), ("two", ("a-model",))):
        sent, page = below(turn := turn_of(ada, choice=choice))
        assert sent.plain is not None and sent.plain.names == names
        assert without_clock(filled(sent.plain.as_json(), turn.conversation_id)) == without_clock(page)


@pytest.mark.parametrize(
    "columns",
    [
        {"state": TurnState.STOPPED},
        {"state": TurnState.FAILED},
        {"state": TurnState.INCOMPLETE},
        {"turns_left_out": 2},
        {"backend": DemoBackend.name},
        {"finished_at": None},
    ],
)
def test_rare_parts_are_sent_as_whole_html(ada: User, columns: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connected, "is_demo", lambda: False)
    sent, page = below(turn_of(ada, **columns))
    assert sent.html is not None and sent.html.html == page
    assert (sent.language, sent.plain) == ("en", None)
