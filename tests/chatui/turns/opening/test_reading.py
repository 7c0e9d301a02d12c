"""What a turn begins with is read by a thread wherever the database may be asked for it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from chatui.model_servers import connected
from chatui.models import Conversation, Folder, User
from chatui.prompts import operators
from chatui.prompts.operators import GroupInstructions
from chatui.turns.preparing import reading
from chatui.turns.start import Ask, Kind
from tests.chatui.conftest import store
from tests.support.environment import change

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def set_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The operator's settings: a model server, and nothing that is for groups."""
    values: dict[str, Any] = {"backend_url": "http://127.0.0.1:9"}
    change(monkeypatch, values)
    monkeypatch.setattr(connected, "are_rows_fresh", lambda: True)
    return values


def reads_nothing(ada: User, **asked: Any) -> bool:
    return reading._reads_nothing(store(ada, Ask(Kind.SEND, uuid4(), "low", **{"text": "What is 2 + 2?", **asked})))


def test_a_first_question_reads_nothing(ada: User, set_up: dict[str, Any], django_assert_num_queries: Any) -> None:
    started = store(ada, Ask(Kind.SEND, uuid4(), "low", text="What is 2 + 2?"))
    assert reading._reads_nothing(started)
    with django_assert_num_queries(0):
        opening = reading.opening_of(started)
    assert [frame.body for frame in opening.job.frames] == ["What is 2 + 2?"]


def test_a_later_question_is_read_with_its_branch(ada: User, set_up: dict[str, Any]) -> None:
    first = store(ada, Ask(Kind.SEND, uuid4(), "low", text="What is 2 + 2?"))
    type(first.turn).objects.update(state="completed")
    assert not reads_nothing(ada, conversation=first.turn.conversation_id)


@pytest.mark.parametrize("text", ["See 【1†L1】", "long " * reading.SHORT_CHARS])
def test_a_question_that_cites_or_is_long_has_a_thread(ada: User, set_up: dict[str, Any], text: str) -> None:
    assert not reads_nothing(ada, text=text)


def test_a_folder_has_instructions_of_its_own(ada: User, set_up: dict[str, Any]) -> None:
    folder = Folder.objects.create(owner=ada, name="Sums")
    assert not reads_nothing(ada, folder=folder.pk)
    assert Conversation.objects.get().folder == folder, "the premise"


@pytest.mark.parametrize("values", [{"tools": {"browser": []}}, {"summary_groups": ["staff"]}, {"backend_url": ""}])
def test_what_depends_on_groups_and_tools_is_asked_in_a_thread(ada: User, set_up: dict[str, Any], values: dict[str, Any]) -> None:
    set_up.update(values)
    assert not reads_nothing(ada)


def test_instructions_of_groups_are_asked_for_in_a_thread(ada: User, set_up: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "of_groups", lambda: GroupInstructions({"staff": "Be brief."}))
    assert operators.of_groups().texts == {}
    assert not reads_nothing(ada)


def test_model_servers_that_may_have_changed_are_read_again(ada: User, set_up: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connected, "are_rows_fresh", lambda: False)
    assert not reads_nothing(ada)
