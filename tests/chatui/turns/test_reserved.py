"""How many tokens are reserved for a turn: those of its question, of what was sent before it, and of its person's last answer there."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.user import User
from chatui.turns import start
from chatui.usage import counting, reserving
from chatui.usage.limits import UsageLimits
from chatui.usage.reserving import Reserved
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _as_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reservation of exactly the tokens before the question, whose own text counts nothing."""
    monkeypatch.setattr(counting, "tokens_to_reserve", lambda text, before: before)
    monkeypatch.setattr(reserving, "reserve", lambda person, limits, tokens: Reserved(tokens))


def ended(person: User, conversation: Conversation | None, hours: int, read: int | None, written: int | None) -> Conversation:
    """The conversation of a turn that started some hours ago and used these tokens."""
    turn = store(person, ask(conversation=conversation.pk if conversation else None)).turn
    Turn.objects.filter(pk=turn.pk).update(
        state="completed", started_at=timezone.now() - timedelta(hours=hours), input_tokens=read, output_tokens=written
    )
    return turn.conversation


@pytest.fixture
def row(ada: User, bela: User) -> Conversation:
    """A conversation with two answers for ada, which was bela's before. Ada's last answer anywhere was in another one."""
    row = ended(ada, None, 3, 9000, 900)
    ended(ada, row, 5, 8000, 800)
    ended(ada, None, 1, 7000, 700)
    later = ended(bela, None, 2, 6000, 600)
    Turn.objects.filter(conversation=later).update(conversation=row)
    return row


def tokens(monkeypatch: pytest.MonkeyPatch, person: User, conversation: UUID | None, **limits: int) -> int | None:
    monkeypatch.setattr(start, "limits_of", lambda of: UsageLimits(**limits))
    found = start.reserved_for(person, conversation, "And then?", 200)
    return found.tokens if found else None


def test_the_last_answer_counts_if_tokens_are_limited(ada: User, row: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for names in (("day_tokens",), ("month_tokens",), ("day_tokens", "month_tokens"), ("day_turns",), ("month_turns",), ()):
        found[names] = tokens(monkeypatch, ada, row.pk, **dict.fromkeys(names, 5))
    assert list(found.values()) == [10_100, 10_100, 10_100, 200, 200, None]
    assert tokens(monkeypatch, ada, None, day_tokens=5) == 200, "a new conversation"


@pytest.mark.parametrize(("read", "written", "before"), [(None, None, 200), (None, 5, 205), (30, None, 230), (30, 5, 235)])
def test_a_number_that_no_server_reported_counts_nothing(
    read: int | None, written: int | None, before: int, ada: User, bela: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ended(ada, None, 1, read, written)
    assert tokens(monkeypatch, ada, row.pk, day_tokens=5) == before
    assert tokens(monkeypatch, bela, row.pk, day_tokens=5) == 200, "nothing was answered to this person"
