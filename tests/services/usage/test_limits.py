"""Usage limits on PostgreSQL: concurrent questions of one person get only what is left of a limit, and each answer is counted."""

import pytest

from tests.services.databases import answer_of
from tests.services.databases import database as database
from tests.services.databases import deployment as deployment
from tests.support.served import Deployment

pytestmark = pytest.mark.services

AT_ONCE = """
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from django.db import connection, transaction
from chatui.models import Turn, UsageCount, UsageEntry, UsageLimit, User
from chatui.turns.asks import AskRefusedError
from chatui.usage import limits, reserving, settling
from chatui.usage.counting import Attribution, Charge, Spent
from chatui.usage.limits import UsageLimits
from tests.support.turns import ask, store

def twenty(work):
    ready = Barrier(20)
    def one(_):
        try:
            ready.wait(30)
            with transaction.atomic():
                return bool(work())
        except AskRefusedError as refused:
            return refused.code.value
        finally:
            connection.close()
    with ThreadPoolExecutor(20) as pool:
        return list(pool.map(one, range(20)))

ada, bela = (User.objects.get(username=name) for name in ("ada", "bela"))
"""
ASK = """
UsageLimit.objects.create(day_turns=1)
limits.clear_cache()
asked = twenty(lambda: store(ada, ask(text="Hello?"), "here"))
print("ANSWER" + json.dumps([asked.count(True), asked.count("E-X-QUOTA-DAY"), Turn.objects.count()]))
"""
HOLD = """
today = limits.now()
UsageCount.objects.update_or_create(person=bela, defaults={"day": today.day, "month": today.month, "since": limits.oldest()})
held = twenty(lambda: reserving._try_to_reserve(bela, UsageLimits(day_turns=3, month_tokens=1_000_000), 10, today))
row = UsageCount.objects.get(person=bela)
print("ANSWER" + json.dumps([held.count(True), row.reserved_turns, row.reserved_tokens]))
"""
SETTLE = """
UsageCount.objects.all().delete()
UsageLimit.objects.get_or_create(day_turns=1)
limits.clear_cache()
today = limits.now().day
charge = Charge("answer", Spent(100, 10, 50))
twenty(lambda: settling.settle(Attribution(bela.pk, today), "completed", [charge]) or True)
row = UsageCount.objects.get(person=bela)
print("ANSWER" + json.dumps([row.day_tokens, row.day_turns, row.month_tokens, UsageEntry.objects.filter(person=bela).count()]))
"""

ERASE = """
import time
from threading import Event
from chatui.models import Conversation
from chatui.store import erasure
UsageLimit.objects.all().delete()
limits.clear_cache()
today = limits.now()
UsageCount.objects.update_or_create(person=bela, defaults={"day": today.day, "month": today.month})
store(bela, ask(text="Hello?"), "here")
turn = Turn.objects.get(asked_by=bela)
is_held = Event()

def asks():
    UsageCount.objects.filter(person=bela).update(reserved_turns=0)
    is_held.set()
    time.sleep(1)  # the other waits by then, whatever it takes first
    return Conversation.objects.filter(pk=turn.conversation_id).update(title="Asked")

def erases():
    is_held.wait(30)
    return erasure.close(turn.conversation_id)

def done(work):
    try:
        with transaction.atomic():
            return bool(work())
    except Exception as error:
        return type(error).__name__
    finally:
        connection.close()

with ThreadPoolExecutor(2) as pool:
    ended = list(pool.map(done, [asks, erases]))
print("ANSWER" + json.dumps([*ended, Turn.objects.get().state]))
"""


def run(deployment: Deployment, code: str):
    return answer_of(deployment, AT_ONCE + code)


def test_twenty_questions_at_once_against_a_limit_of_one_answer_start_one(deployment: Deployment) -> None:
    assert run(deployment, ASK) == [1, 19, 1]


def test_the_statement_that_reserves_lets_no_more_pass_than_there_are_left(deployment: Deployment) -> None:
    assert run(deployment, HOLD) == [3, 3, 30]


def test_what_ends_at_once_is_counted_each_also_for_somebodys_first_time(deployment: Deployment) -> None:
    assert run(deployment, SETTLE) == [3000, 20, 3000, 20]


def test_an_erasure_and_a_question_take_their_locks_in_one_order(deployment: Deployment) -> None:
    run(deployment, "Turn.objects.all().delete()\nprint('ANSWER0')")
    assert run(deployment, ERASE) == [True, True, "stopped"]
