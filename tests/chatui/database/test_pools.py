"""Thread pools for the database are bounded, have deadlines, and never block the event loop."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection

from chatui.codes import ProductCode
from chatui.database.faults import DatabaseBusyError
from chatui.database.pools import Pool
from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.chatui.database.locks import write_lock

pytestmark = pytest.mark.django_db(transaction=True)

ENDLESS = "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted) SELECT COUNT(*) FROM counted"


@pytest.fixture
def pool() -> Iterator[Pool]:
    created = Pool("test", threads=2, waiting=1, seconds=0.5)
    yield created
    created._threads.shutdown(cancel_futures=True)


def ask_endlessly() -> None:
    with connection.cursor() as cursor:
        cursor.execute(ENDLESS)
        cursor.fetchall()


async def test_work_runs_in_the_threads_of_the_pool_and_keeps_its_connection(pool: Pool, ada: User) -> None:
    def look() -> tuple[str, int, bool]:
        found = User.objects.filter(pk=ada.pk).exists()
        return threading.current_thread().name, id(connection.connection), found

    seen = [await pool.run(look) for _ in range(4)]
    assert all(name.startswith("test") and found for name, _, found in seen)
    names = {name for name, _, _ in seen}
    assert len({number for _, number, _ in seen}) <= len(names), "opened once for each thread, not once for each query"


async def test_a_full_pool_refuses_at_once_and_says_so(pool: Pool) -> None:
    gate = threading.Event()
    waiting = [asyncio.create_task(pool.run(gate.wait, 60)) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(DatabaseBusyError) as refused:
        await pool.run(gate.wait, 60)
    assert refused.value.code is ProductCode.SERVER_BUSY and not any(task.done() for task in waiting)
    gate.set()
    assert await asyncio.gather(*waiting) == [True] * 3
    assert await pool.run(gate.wait, 5), "and then there is room again"


async def test_an_endless_statement_is_aborted_and_the_thread_is_free_again(pool: Pool) -> None:
    with pytest.raises(DatabaseBusyError):
        await asyncio.gather(pool.run(ask_endlessly), pool.run(ask_endlessly))
    async with asyncio.timeout(10):
        while True:
            try:
                assert await pool.run(User.objects.count) == 0
                break
            except DatabaseBusyError:
                await asyncio.sleep(0.05)


async def test_no_statement_begins_after_the_deadline(pool: Pool, ada: User) -> None:
    def late() -> None:
        time.sleep(0.7)
        Conversation.objects.create(owner=ada, title="late")

    with pytest.raises(DatabaseBusyError):
        await pool.run(late)
    assert await pool.run_with_retries(Conversation.objects.count) == 0


async def test_the_event_loop_is_not_blocked_while_others_wait_for_a_lock(pool: Pool, ada: User) -> None:
    steps = 0
    with write_lock():
        blocked = asyncio.create_task(pool.run(Conversation.objects.create, owner=ada))
        while not blocked.done():
            await asyncio.sleep(0.01)
            steps += 1
            if steps == 3:
                assert await pool.run(User.objects.count) == 1, "readers use another thread"
    with pytest.raises((DatabaseBusyError, OperationalError)):
        await blocked
    assert steps > 3


async def test_work_with_retries_is_repeated_until_the_database_can_do_it(pool: Pool) -> None:
    left = [OperationalError("locked"), DatabaseBusyError(), ValueError("its own fault")]

    def fail() -> None:
        raise left.pop(0)

    with pytest.raises(ValueError, match="its own fault"):
        await pool.run_with_retries(fail)
    assert left == []
