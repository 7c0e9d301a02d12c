"""Limits: who may ask, who may not and until when; and any number of tabs gets no more than is left."""

import asyncio
from datetime import UTC, datetime

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import Group
from django.db import transaction

from chatui.backends.base import BackendError
from chatui.codes import ProductCode
from chatui.models.conversation import Conversation
from chatui.models.turn import Turn, TurnState
from chatui.models.usage import UsageCount, UsageEntry, UsageKind, UsageLimit
from chatui.models.user import User
from chatui.turns import running
from chatui.turns.asks import AskRefusedError
from chatui.usage import limits, reserving, settling
from chatui.usage.counting import Attribution, Charge, Spent
from chatui.usage.limits import KINDS, limits_of
from chatui.usage.reserving import LimitReachedError
from tests.support.scripted import ScriptedBackend, answer
from tests.support.turns import ask, begin, store


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the clock to noon of a day."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: datetime(2026, 11, 21, 12, tzinfo=UTC))


def limit(group: Group | None = None, **numbers: int | None) -> UsageLimit:
    limits.clear_cache()
    return UsageLimit.objects.create(group=group, **numbers)


def take(person: User, tokens: int = 100) -> reserving.Reserved:
    with transaction.atomic():
        return reserving.reserve(person, limits_of(person), tokens)


def numbers(person: User) -> dict[str, int]:
    """What limits this person, by the columns of a limit."""
    held = {f"{period}_{kind}": getattr(limits_of(person), f"{period}_{kind}") for period, kind in KINDS}
    return {column: number for column, number in held.items() if number is not None}


def row(person: User) -> UsageCount:
    return UsageCount.objects.get(person=person)


@pytest.mark.django_db
def test_whoever_has_no_limit_reserves_nothing(ada: User) -> None:
    assert store(ada, ask()).turn.reserved_tokens is None
    assert not UsageCount.objects.exists()


@pytest.mark.django_db
def test_a_turn_reserves_one_answer_and_about_its_tokens(ada: User) -> None:
    limit(day_turns=2)
    turn = store(ada, ask()).turn
    assert turn.reserved_tokens is not None and turn.reserved_tokens > 4000
    assert (row(ada).reserved_turns, row(ada).reserved_tokens) == (1, turn.reserved_tokens)


@pytest.mark.django_db
def test_a_turn_also_reserves_the_tokens_of_the_last_answer(ada: User) -> None:
    limit(day_tokens=10**9)
    turn = store(ada, ask()).turn
    Turn.objects.filter(pk=turn.pk).update(state="completed", input_tokens=3000, output_tokens=500)
    alone, after = (store(ada, ask(text="And 3 + 3?", conversation=each)).turn.reserved_tokens for each in (None, turn.conversation_id))
    assert alone is not None and after == alone + 3500


@pytest.mark.django_db
def test_the_last_answer_of_the_day_is_given_and_the_next_refused_until_midnight(ada: User, today: None) -> None:
    limit(day_turns=2, month_turns=100)
    store(ada, ask())
    store(ada, ask())
    before = Conversation.objects.count()
    with pytest.raises(AskRefusedError) as refused:
        store(ada, ask())
    assert (refused.value.code, refused.value.until) == (ProductCode.QUOTA_DAY, datetime(2026, 11, 22, tzinfo=UTC))
    assert Conversation.objects.count() == before, "nothing of it is stored"


@pytest.mark.django_db
def test_of_two_limits_that_are_reached_the_one_that_lasts_longer_is_told(ada: User, today: None) -> None:
    limit(day_turns=1, month_turns=1)
    store(ada, ask())
    with pytest.raises(AskRefusedError) as refused:
        store(ada, ask())
    assert (refused.value.code, refused.value.until) == (ProductCode.QUOTA_MONTH, datetime(2026, 12, 1, tzinfo=UTC))


@pytest.mark.django_db
def test_a_limit_of_nothing_refuses_everything_and_no_limit_nothing(ada: User, bela: User) -> None:
    students = Group.objects.create(name="students")
    ada.groups.add(students)
    limit(students, day_turns=0)
    with pytest.raises(AskRefusedError):
        store(ada, ask())
    assert store(bela, ask()).is_new


@pytest.mark.django_db
def test_a_new_day_and_a_new_month_begin_at_nothing(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    limit(day_turns=1, month_turns=3)

    def answered(day: datetime, turns: int) -> None:
        """Some turns that have ended then, and the time right after."""
        monkeypatch.setattr("django.utils.timezone.now", lambda: day)
        for _ in range(turns):
            settling.settle(Attribution(ada.pk, day.date()), TurnState.COMPLETED, [Charge(UsageKind.ANSWER, Spent(1, 0, 2))])

    answered(datetime(2026, 11, 20, 12, tzinfo=UTC), 2)
    with pytest.raises(LimitReachedError):
        take(ada)
    answered(datetime(2026, 11, 21, 12, tzinfo=UTC), 0)
    take(ada)
    answered(datetime(2026, 11, 21, 13, tzinfo=UTC), 1)
    with pytest.raises(LimitReachedError) as reached:
        take(ada)
    assert reached.value.code == ProductCode.QUOTA_MONTH
    answered(datetime(2026, 12, 1, tzinfo=UTC), 0)
    take(ada)


@pytest.mark.django_db
def test_simultaneous_questions_reserve_only_as_many_tokens_as_fit(ada: User) -> None:
    rule = limit(day_tokens=6000)
    store(ada, ask())
    with pytest.raises(AskRefusedError):
        store(ada, ask())
    rule.day_tokens = 9000
    rule.save()
    limits.clear_cache()
    store(ada, ask())
    assert row(ada).reserved_turns == 2


@pytest.mark.django_db
def test_if_only_running_answers_are_in_the_way_neither_a_limit_nor_a_day_is_named(ada: User) -> None:
    limit(day_tokens=20_000, month_tokens=10_000_000)
    for _ in range(4):
        store(ada, ask())
    with pytest.raises(AskRefusedError) as refused:
        store(ada, ask())
    assert (refused.value.code, refused.value.until) == (ProductCode.TOO_MANY, None)
    UsageEntry.objects.create(person=ada, day=limits.now().day, input_tokens=20_000)
    with pytest.raises(AskRefusedError) as refused:
        store(ada, ask())
    assert refused.value.code == ProductCode.QUOTA_DAY, "where a limit is reached as well, it is named"


@pytest.mark.django_db
def test_whoever_has_anything_left_may_ask_once_however_long_the_answer_may_get(ada: User) -> None:
    limit(day_tokens=1000)
    used = UsageEntry.objects.create(person=ada, day=limits.now().day, input_tokens=999)
    take(ada, 6000)
    used.input_tokens = 1000
    used.save()
    with pytest.raises(LimitReachedError):
        take(ada, 1)


@pytest.mark.django_db
def test_the_reservation_of_a_lost_turn_is_released_when_it_is_needed(ada: User) -> None:
    limit(day_turns=1)
    UsageCount.objects.create(person=ada, day=limits.now().day, month=limits.now().month, reserved_turns=1, reserved_tokens=50)
    take(ada)
    assert (row(ada).reserved_turns, row(ada).reserved_tokens) == (1, 100)


@pytest.mark.django_db
def test_the_largest_limit_of_a_persons_groups_applies_for_each_kind_separately(ada: User, bela: User) -> None:
    small, large = Group.objects.create(name="small"), Group.objects.create(name="large")
    ada.groups.set([small, large])
    limit(None, day_turns=1)
    limit(small, day_turns=5, day_tokens=None, month_turns=70)
    limit(large, day_turns=9, day_tokens=100, month_turns=60)
    limits.clear_cache()
    assert numbers(ada) == {"day_turns": 9, "month_turns": 70}
    assert numbers(bela) == {"day_turns": 1}, "a person in none of the groups has the limits for everybody"


@pytest.mark.django_db
def test_a_person_who_has_used_most_of_a_limit_is_told_how_much(ada: User, today: None) -> None:
    limit(day_turns=5)
    near = [store(ada, ask()).near for _ in range(4)]
    assert near[:3] == [None, None, None]
    assert near[3] is not None and (near[3].percent, near[3].until) == (80, datetime(2026, 11, 22, tzinfo=UTC))


@pytest.mark.django_db(transaction=True)
async def test_twenty_tabs_against_a_limit_of_one_answer_get_one(ada: User, backend: ScriptedBackend) -> None:
    await database_sync_to_async(limit)(day_turns=1)
    backend.script = [asyncio.Event()]
    results = await asyncio.gather(*(begin(ada, ask()) for _ in range(20)), return_exceptions=True)
    refused = [each.code for each in results if isinstance(each, AskRefusedError)]
    assert refused == [ProductCode.QUOTA_DAY] * 19
    assert await Turn.objects.acount() == 1 and await Conversation.objects.acount() == 1


@pytest.mark.django_db(transaction=True)
async def test_an_answer_is_never_cut_for_a_limit_but_the_next_question_is_refused(ada: User, backend: ScriptedBackend) -> None:
    await database_sync_to_async(limit)(day_tokens=5)
    started = await begin(ada, ask())
    await running.settle()
    turn = await Turn.objects.aget(pk=started.turn.pk)
    assert (turn.state, turn.output_tokens) == ("completed", 20)
    with pytest.raises(AskRefusedError):
        await begin(ada, ask())


@pytest.mark.django_db(transaction=True)
async def test_an_answer_that_failed_without_text_does_not_count(ada: User, backend: ScriptedBackend) -> None:
    await database_sync_to_async(limit)(day_turns=1)
    backend.script = [BackendError(ProductCode.BACKEND_UNREACHABLE)]
    await begin(ada, ask())
    await running.settle()
    backend.script = answer()
    assert (await begin(ada, ask())).is_new
    await running.settle()
