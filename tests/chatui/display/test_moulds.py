"""What is sent of every question and below every answer is rendered once, and is the same as if it were rendered each time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.utils import timezone, translation

from chatui.display import fragments
from chatui.display.conversation import EndedTurn, ShownPart, ended_answer, shown_question
from chatui.model_servers import connected
from chatui.models import Message, Turn, User
from chatui.models.turn import TurnState
from tests.chatui.conftest import store
from tests.chatui.turns.test_turns import ask

pytestmark = pytest.mark.django_db

WORDS = ("What is 2 + 2?", "<b>&amp;\"'</b> \\1 \\g<0> {{ x }} $0", "long\n" * 400, "한국어")


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    moulds = (fragments._question_mould, fragments._answer_end_mould)
    for each in moulds:
        each.cache_clear()
    yield
    for each in moulds:
        each.cache_clear()


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    render = render_to_string

    def noted(template: str, values: dict[str, Any]) -> Any:
        found.append(template)
        return render(template, values)

    monkeypatch.setattr(fragments, "render_to_string", noted)
    return found


def turn_of(person: User, text: str = "Hello", **columns: object) -> Turn:
    turn = store(person, ask(text=text)).turn
    ended = {"state": TurnState.COMPLETED, "model": "a-model", "finished_at": timezone.now()}
    for name, value in (ended | columns).items():
        setattr(turn, name, value)
    return turn


def below(turn: Turn, language: str = "en", **more: Any) -> tuple[str, str]:
    """As it is sent, and as the page's template has it."""
    key = str(turn.question_id)
    ended = EndedTurn(turn, [ShownPart(key, "final", ())], is_first=True, **more)
    with translation.override(language):
        page = fragments._rendered(
            "exchange/_answer_end.html", turn.conversation_id, answer=ended_answer(ended), has_question=True, is_demo=False
        )
    return fragments.answer_end(ended, language).html, page.html


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_question_is_the_same_from_its_mould(ada: User, rendered: list[str], language: str) -> None:
    messages: list[Message] = [turn_of(ada, text).question for text in WORDS]
    moulded = [fragments.question(message, (), language).html for message in messages]
    assert len(rendered) == 2, "a short one and a long one"
    with translation.override(language):
        for message, html in zip(messages, moulded, strict=True):
            assert html == fragments._rendered("exchange/_question.html", message.conversation_id, question=shown_question(message)).html


def test_what_stands_below_an_answer_is_the_same_from_its_mould(ada: User, rendered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connected, "is_demo", lambda: False)
    turns = [turn_of(ada), turn_of(ada), turn_of(ada, model="<another>")]
    for turn in turns:
        sent, page = below(turn, written=[])
        assert sent == page and str(turn.conversation_id) in sent and str(turn.question_id) in sent
    assert len(rendered) == 2 + len(turns), "one for each model, beside those of the comparison"
    assert below(turns[0], "de", written=[])[0] != below(turns[0], written=[])[0]


@pytest.mark.parametrize("state", [TurnState.STOPPED, TurnState.FAILED, TurnState.INCOMPLETE])
def test_what_is_rare_is_rendered_each_time(ada: User, state: TurnState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connected, "is_demo", lambda: False)
    sent, page = below(turn_of(ada, state=state), written=[])
    assert sent == page
    assert fragments._answer_end_mould.cache_info().currsize == 0


def test_no_other_answer_is_in_a_mould(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = turn_of(ada), turn_of(ada)
    below(one, written=[])
    sent, _ = below(other, written=[])
    assert str(one.conversation_id) not in sent and str(one.question_id) not in sent
    blank = fragments._blank(replace(ended_answer(EndedTurn(one, [ShownPart("x", "final", ())], is_first=True, written=[]))))
    assert blank is not None and str(one.pk) not in repr(blank)
