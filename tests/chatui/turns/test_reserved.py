"""How many tokens are reserved for a turn: those of its question, of what was sent before it, and of its person's last answer there."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone

from chatui.models.conversation import Conversation
from chatui.models.turn import Turn
from chatui.models.usage import UsageLimit
from chatui.models.user import User
from chatui.usage import limits
from tests.support.turns import ask, store

pytestmark = pytest.mark.django_db


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


def tokens(person: User, conversation: UUID | None, *kinds: str) -> int | None:
    """How many are reserved for a question there if these are limited, and nobody is near a limit; None for no reservation."""
    with transaction.atomic():
        if kinds:
            UsageLimit.objects.create(**dict.fromkeys(kinds, 1_000_000_000))
        limits.clear_cache()
        if conversation is not None:
            Conversation.objects.filter(pk=conversation).update(owner=person)
        found = store(person, ask(text="And then?", conversation=conversation)).turn.reserved_tokens
        transaction.set_rollback(True)
    limits.clear_cache()
    return found


def more(person: User, conversation: UUID, *kinds: str) -> int:
    """How many more than in a new conversation."""
    here, anew = (tokens(person, place, *kinds) for place in (conversation, None))
    assert here is not None and anew
    return here - anew


def test_the_last_answer_counts_if_tokens_are_limited(ada: User, row: Conversation) -> None:
    kinds = [("day_tokens",), ("month_tokens",), ("day_tokens", "month_tokens"), ("day_turns",), ("month_turns",)]
    assert [more(ada, row.pk, *each) for each in kinds] == [9900, 9900, 9900, 0, 0]
    assert tokens(ada, row.pk) is None, "nothing is limited"


@pytest.mark.parametrize(("read", "written", "before"), [(None, None, 0), (None, 5, 5), (30, None, 30), (30, 5, 35)])
def test_a_number_that_no_server_reported_counts_nothing(read: int | None, written: int | None, before: int, ada: User, bela: User) -> None:
    row = ended(ada, None, 1, read, written)
    assert more(ada, row.pk, "day_tokens") == before
    assert more(bela, row.pk, "day_tokens") == 0, "nothing was answered to this person"
