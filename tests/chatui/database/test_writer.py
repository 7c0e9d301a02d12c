"""The single writer: one transaction for all pending writes, no result before COMMIT, nothing lost while the database is unavailable."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DataError, IntegrityError, OperationalError, transaction
from django.db.backends.sqlite3.base import DatabaseWrapper

from chatui.codes import ProductCode
from chatui.database import writer as writing
from chatui.database.faults import DatabaseBusyError, is_transient
from chatui.database.writer import Writer
from chatui.models.conversation import Conversation
from chatui.models.user import User
from tests.chatui.database.locks import write_lock

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def writer() -> Writer:
    return Writer()


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What the next commits do: False fails before committing, None after. Without an entry they succeed. Each is recorded at the end."""
    outcomes: list[Any] = []
    commit = DatabaseWrapper._commit  # type: ignore[attr-defined]

    def watched(self: DatabaseWrapper) -> None:
        outcome = outcomes.pop(0) if outcomes and outcomes[0] is not True else True
        if outcome is False:
            raise OperationalError("disk I/O error")
        commit(self)
        if outcome is None:
            raise OperationalError("server closed the connection unexpectedly")
        outcomes.append(True)

    monkeypatch.setattr(DatabaseWrapper, "_commit", watched)
    return outcomes


def titled(person: User, title: str) -> Callable[[], str]:
    def write() -> str:
        Conversation.objects.get_or_create(owner=person, title=title)
        return title

    return write


async def titles() -> list[str]:
    return [row.title async for row in Conversation.objects.order_by("created_at", "pk")]


def full() -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise OperationalError("database or disk is full") from error


async def test_all_pending_writes_are_one_transaction(writer: Writer, ada: User, commits: list[bool]) -> None:
    names = [f"number {number}" for number in range(30)]
    assert await asyncio.gather(*(writer.run(titled(ada, name)) for name in names)) == names
    assert len(commits) <= 3, "the first may have been written alone"
    assert await titles() == names, "in their order"


async def test_a_thread_that_waits_does_not_look_again_and_again(writer: Writer, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    def looked() -> float:
        nonlocal looks
        looks += 1
        return time.monotonic()

    monkeypatch.setattr("chatui.database.writer.time", SimpleNamespace(monotonic=looked, sleep=time.sleep))
    failures = [OperationalError("database is locked") for _ in range(4)]

    def write() -> None:
        if failures:
            raise failures.pop()

    first, second = writer.post(write, order=1), writer.post(titled(ada, "after it"), order=1)
    urgent = [await writer.run(titled(ada, f"{number}")) for number in range(3)]
    await asyncio.gather(first, second)
    assert len(urgent) == 3 and not failures and 0 < looks < 80, "a look each millisecond would be hundreds"


async def test_a_failing_write_does_not_affect_the_others(writer: Writer, ada: User) -> None:
    def broken() -> None:
        Conversation.objects.create(owner=ada, title="half")
        raise ValueError

    with write_lock():  # so that all three are written at once
        writes = [writer.post(write) for write in (titled(ada, "before"), broken, titled(ada, "behind"))]
        await asyncio.sleep(0.05)
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(result) for result in results] == [str, ValueError, str]
    assert await titles() == ["before", "behind"]


async def test_two_that_collide_are_told_so_and_the_third_is_written(writer: Writer, ada: User) -> None:
    key = (await Conversation.objects.acreate(owner=ada, title="there")).pk
    again = lambda: Conversation.objects.create(pk=key, owner=ada)  # noqa: E731
    with write_lock():
        writes: list[asyncio.Future[Any]] = [writer.post(again), writer.post(titled(ada, "other"))]
        await asyncio.sleep(0.05)
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert isinstance(results[0], IntegrityError) and results[1] == "other"


async def test_no_result_comes_before_the_commit_and_a_failed_one_is_tried_again(writer: Writer, ada: User, commits: list[Any]) -> None:
    commits += [False, False]
    assert await asyncio.wait_for(writer.run(titled(ada, "kept")), 10) == "kept"
    assert commits == [True] and await titles() == ["kept"]


async def test_a_commit_whose_success_was_not_reported_is_repeated_and_counts_once(writer: Writer, ada: User, commits: list[Any]) -> None:
    commits += [None]
    assert await asyncio.wait_for(writer.run(titled(ada, "kept")), 10) == "kept"
    assert await titles() == ["kept"]


async def test_while_another_process_writes_jobs_wait_in_order_and_the_event_loop_does_not(writer: Writer, ada: User) -> None:
    names = [f"number {number}" for number in range(5)]
    longest, at = 0.0, time.monotonic()
    with write_lock():
        writes = [writer.post(titled(ada, name), order="one turn") for name in names]
        for _ in range(60):
            await asyncio.sleep(0.01)
            longest, at = max(longest, time.monotonic() - at), time.monotonic()
        assert not any(write.done() for write in writes)
    assert await asyncio.wait_for(asyncio.gather(*writes), 10) == names
    assert await titles() == names
    assert longest < 0.5


async def test_a_job_that_cannot_wait_is_refused_with_a_sentence_and_leaves_nothing(writer: Writer, ada: User) -> None:
    with write_lock():
        with pytest.raises(DatabaseBusyError) as refused:
            await asyncio.wait_for(writer.run(titled(ada, "late"), patience=0.3), 10)
        assert refused.value.code is ProductCode.SERVER_BUSY
    await writer.run(titled(ada, "next"))
    assert await titles() == ["next"]


async def test_without_room_a_question_is_refused_at_once_and_an_answer_waits(writer: Writer, ada: User) -> None:
    left = [True] * 4

    def answer() -> None:
        if left:
            left.pop()
            full()
        Conversation.objects.create(owner=ada, title="answer")

    waiting = writer.post(answer)
    with pytest.raises(DatabaseBusyError) as refused:
        await asyncio.wait_for(writer.run(full, patience=3600), 10)
    assert refused.value.code is ProductCode.STORAGE_FULL and refused.value.code.sentence
    await asyncio.wait_for(waiting, 10)
    assert await titles() == ["answer"]


async def test_a_blocked_write_delays_only_writes_that_must_follow_it(writer: Writer, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails like a statement that needs a row which another process has locked."""
    monkeypatch.setattr(writing, "ends_one_statement", is_transient)
    locked = [True]

    def first() -> None:
        if locked:
            raise OperationalError("canceling statement due to lock timeout")
        titled(ada, "first")()

    held: list[asyncio.Future[Any]] = [writer.post(first, order="a"), writer.post(titled(ada, "second"), order="a")]
    await asyncio.wait_for(asyncio.gather(*(writer.run(titled(ada, name), order=name) for name in "bcd")), 10)
    assert await titles() == ["b", "c", "d"] and not any(write.done() for write in held)
    locked.clear()
    await asyncio.wait_for(asyncio.gather(*held), 10)
    assert (await titles())[3:] == ["first", "second"]


async def test_a_write_that_can_never_succeed_is_reported_and_not_tried_forever(writer: Writer, ada: User) -> None:
    def wrong() -> None:
        with transaction.atomic():
            Conversation.objects.raw("SELECT * FROM no_such_table")[0]

    def too_long() -> None:
        raise DataError

    for write, error in ((wrong, OperationalError), (too_long, DataError)):
        with pytest.raises(error):
            await asyncio.wait_for(writer.run(write), 10)


async def test_a_process_that_ends_waits_for_pending_writes(writer: Writer, ada: User) -> None:
    with write_lock():
        writer.post(titled(ada, "last"))
        assert not await asyncio.to_thread(writer.drain, 0.2)
    assert await asyncio.to_thread(writer.drain, 10)
    assert await titles() == ["last"]
