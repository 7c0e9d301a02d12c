"""The ledger has a line for each turn, with the server's token counts, however the turn ends."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import connection
from django.utils import timezone

from chatui.audit_log.record import SHELL
from chatui.backends.base import BackendError, EndReason, SampleEnded, SampleRequest, Taker, Usage
from chatui.codes import ProductCode
from chatui.database.writer import writer
from chatui.lifecycle.erasure import erase
from chatui.models.conversation import Conversation
from chatui.models.turn import Turn, TurnState
from chatui.models.usage import UsageCount, UsageEntry, UsageKind, UsageLimit
from chatui.models.user import User
from chatui.store import erasure
from chatui.turns import running, sweep
from chatui.turns.asks import AskRefusedError
from chatui.usage import limits, settling
from chatui.usage.counting import MAX_TOKENS, Attribution, Charge, Spent, spent_on
from chatui.wire.bus import PROCESS
from renderer.frames import Frame, Header, Terminator
from tests.support import offering
from tests.support.cases import example_count
from tests.support.database import Statements
from tests.support.database import statements as statements
from tests.support.environment import change
from tests.support.page import answered
from tests.support.scripted import CALL, FINAL, ScriptedBackend, Step, TitlingBackend, answer, called, connect, frame
from tests.support.turns import ask, begin, run, store

pytestmark = pytest.mark.django_db(transaction=True)


async def set_limit() -> None:
    """Turns are added to a person's count only while there are limits."""
    await database_sync_to_async(UsageLimit.objects.create)(month_turns=100_000)
    limits.clear_cache()


async def entries() -> list[UsageEntry]:
    return [entry async for entry in UsageEntry.objects.order_by("pk")]


async def test_a_finished_turn_is_one_line_with_what_the_server_counted(ada: User, backend: ScriptedBackend) -> None:
    await set_limit()
    backend.script = [*answer()[:-1], SampleEnded(EndReason.STOP, Usage(10, 20, 4), "scripted-model")]
    await begin(ada, ask())
    await running.settle()
    [entry] = await entries()
    assert (entry.input_tokens, entry.cached_tokens, entry.output_tokens, entry.is_estimate) == (10, 4, 20, False)
    assert (entry.person_id, entry.key_id, entry.kind, entry.turns) == (ada.pk, None, UsageKind.ANSWER, 1)
    assert (entry.backend, entry.model, entry.day) == ("Scripted", "scripted-model", timezone.now().date())
    row = await UsageCount.objects.aget(person=ada)
    assert (row.day_tokens, row.day_turns, row.month_tokens, row.month_turns) == (30, 1, 30, 1)


async def test_counts_that_a_server_does_not_report_are_estimated_and_marked(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*answer("word " * 100)[:-1], SampleEnded(EndReason.STOP)]
    await begin(ada, ask())
    await running.settle()
    [entry] = await entries()
    assert entry.is_estimate and 100 < entry.output_tokens < 300 and 5 < entry.input_tokens < 500


@pytest.mark.parametrize("usage", [Usage(-5, 20), Usage(10**15, 20), Usage(None, 20)])
async def test_an_implausible_token_count_is_ignored(usage: Usage, ada: User, backend: ScriptedBackend) -> None:
    spent = spent_on(SampleRequest((Frame(Header("user"), "What is 2 + 2?"),)), usage, 7.0)
    assert spent.is_estimate and spent.output == 20 and 0 < spent.input < 100


@pytest.mark.parametrize("usage", [Usage(-5, -1), Usage(10**15, 2**31)])
async def test_counts_that_no_column_holds_do_not_keep_a_turn_from_its_end(usage: Usage, ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*answer()[:-1], SampleEnded(EndReason.STOP, usage, "m\x00<|end|>")]
    await begin(ada, ask())
    await running.settle()
    turn = await Turn.objects.aget()
    assert (turn.state, turn.input_tokens, turn.output_tokens) == ("completed", None, None)
    [entry] = await entries()
    assert entry.is_estimate and entry.model == turn.model == "m\ufffd<end|>"


async def test_the_samplings_of_a_turn_are_counted_together_and_the_model_that_was_reported_last_is_its_own(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lookup() -> None:
        """Counts the available items."""

    offering.offer(monkeypatch, lookup)
    counted = Usage(MAX_TOKENS, 7)
    backend.script = [*called(CALL), SampleEnded(EndReason.TOOL_CALLS, counted, "first")]
    again = [*called(replace(CALL, call_id="c2")), SampleEnded(EndReason.TOOL_CALLS, counted, "second")]
    backend.following = [again, [*answer()[:-1], SampleEnded(EndReason.STOP, counted)]]
    turn = await run(ada, ask())
    assert (turn.state, turn.input_tokens, turn.output_tokens, turn.model) == ("completed", 2**31 - 1, 21, "second"), "as a column holds"


async def test_a_request_of_the_product_itself_books_a_model_name_that_can_be_stored(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = TitlingBackend("Sums")
    backend.titles.script = [*answer("Sums")[:-1], SampleEnded(EndReason.STOP, Usage(1, 2), "m\x00<|end|>")]
    connect(monkeypatch, backend)
    change(monkeypatch, {"titles": True})
    await answered(ada)
    assert (await UsageEntry.objects.aget(kind=UsageKind.TITLE)).model == "m\ufffd<end|>"


async def test_a_stopped_turn_is_booked_with_an_estimate(ada: User, backend: ScriptedBackend) -> None:
    backend.script = [*frame(FINAL, "one two three four")[:-1], asyncio.Event()]
    started = await begin(ada, ask())
    await asyncio.wait_for(backend.waiting.wait(), 20)
    await running.stop(running.TurnPlace(started.turn.pk, PROCESS))
    await running.settle()
    [entry] = await entries()
    assert entry.is_estimate and entry.turns == 1 and entry.output_tokens > 3


async def test_a_turn_stopped_before_the_server_reported_its_model_is_booked_as_the_requested_one(ada: User) -> None:
    kinds = (UsageKind.ANSWER, UsageKind.SUMMARY, UsageKind.TITLE)
    given = (("a/org/big", Spent(1), ""), ("a/big", Spent(1), "told"), ("a", Spent(1), ""), ("a/refused", Spent(), ""))
    charges = [Charge(kind, spent, choice, "A", model) for choice, spent, model in given for kind in kinds]
    await database_sync_to_async(settling.settle)(Attribution(ada.pk, timezone.now().date()), "completed", charges)
    assert Counter(entry.model for entry in await entries()) == {"org/big": 3, "told": 3, "": 6}


async def test_a_turn_whose_process_died_is_booked_by_the_sweep_once(ada: User) -> None:
    await database_sync_to_async(UsageLimit.objects.create)(day_turns=5)
    limits.clear_cache()

    @database_sync_to_async
    def died() -> None:
        turn = store(ada, ask(), "another process").turn
        turn.pieces.create(number=1, frame=uuid4(), header="<|start|>assistant<|channel|>final<|message|><|end|>", text="word " * 50)
        Turn.objects.update(lease_until=timezone.now() - timedelta(minutes=5))
        assert UsageCount.objects.get().reserved_turns == 1, "the premise"
        assert sweep.interrupt_abandoned() and not sweep.interrupt_abandoned()

    await died()
    [entry] = await entries()
    assert entry.is_estimate and entry.turns == 1 and entry.output_tokens > 50 and entry.input_tokens > 0
    row = await UsageCount.objects.aget()
    assert (row.reserved_turns, row.reserved_tokens, row.day_turns) == (0, 0, 1)


async def test_erasing_a_conversation_books_what_still_runs_and_keeps_what_was_booked(ada: User, backend: ScriptedBackend) -> None:
    await begin(ada, ask())
    await running.settle()

    @database_sync_to_async
    def erase_conversation() -> None:
        store(ada, ask(text="And now?", conversation=Conversation.objects.get().pk), "another process")
        erasure.erase_conversation(Conversation.objects.get().pk)

    await erase_conversation()
    assert not await Conversation.objects.aexists()
    assert [(entry.input_tokens, entry.turns) for entry in await entries()] == [(10, 1), (0, 1)]


async def test_the_end_of_a_turn_locks_the_count_before_the_conversation_as_its_start_does(
    ada: User, backend: ScriptedBackend, statements: Statements
) -> None:
    await database_sync_to_async(UsageLimit.objects.create)(day_turns=5)
    limits.clear_cache()
    first = await run(ada, ask())
    mark = len(statements)
    await run(ada, ask(text="And now?", conversation=first.conversation_id))
    tables = re.findall(r'UPDATE "?(chatui_usagecount|chatui_conversation)', "; ".join(statements[mark:]))
    assert [table for table, _ in groupby(tables)] == ["chatui_usagecount", "chatui_conversation"] * 2


async def test_a_line_of_the_products_own_is_booked_once_and_for_nobody_who_was_erased(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    await set_limit()
    writes: list[Callable[[], None]] = []

    def note(work: Callable[..., None], *given: object, **_: object) -> asyncio.Future[None]:
        writes.append(partial(work, *given))
        return asyncio.Future()

    monkeypatch.setattr(writer, "post", note)
    for person in (uuid4(), ada.pk):
        settling.post(Attribution(person, timezone.now().date()), Charge(UsageKind.TITLE, Spent(5, 0, 6)))
    of_nobody, of_ada = map(database_sync_to_async, writes)
    await of_nobody()
    assert await entries() == []
    for _ in range(2):  # as the writer does after a lost connection
        await of_ada()
    [entry] = await entries()
    assert (entry.kind, entry.turns, (await UsageCount.objects.aget()).month_tokens) == ("title", 0, 11)


async def test_a_turn_that_ends_after_midnight_counts_for_the_day_of_its_question(ada: User) -> None:
    today = timezone.now().date()
    last_month = today.replace(day=1) - timedelta(days=1)

    @database_sync_to_async
    def settle(day: Any) -> None:
        settling.settle(Attribution(ada.pk, day), TurnState.COMPLETED, [Charge(UsageKind.ANSWER, Spent(1, 0, 2))])

    await set_limit()
    await settle(today)
    await settle(last_month)
    row = await UsageCount.objects.aget()
    assert (row.day, row.day_tokens, row.month_tokens, row.day_turns) == (today, 3, 3, 1)
    assert {entry.day for entry in await entries()} == {today, last_month}


async def test_without_limits_the_ledger_alone_has_what_was_used_and_the_first_limit_finds_it(ada: User, backend: ScriptedBackend) -> None:
    limits.clear_cache()
    await begin(ada, ask())
    await running.settle()
    assert not await UsageCount.objects.aexists()
    rule = await database_sync_to_async(UsageLimit.objects.create)(day_turns=2)
    limits.clear_cache()
    [line] = await database_sync_to_async(limits.status_of)(ada)
    assert line.used == 1
    await begin(ada, ask())
    await running.settle()
    with pytest.raises(AskRefusedError):
        await begin(ada, ask())
    await rule.adelete()
    limits.clear_cache()
    await begin(ada, ask())
    await running.settle()
    await database_sync_to_async(UsageLimit.objects.create)(day_turns=3)
    limits.clear_cache()
    with pytest.raises(AskRefusedError):
        await begin(ada, ask())
    assert [entry.turns for entry in await entries()] == [1, 1, 1], "the one without a limit counts, too"


async def test_a_person_who_is_erased_leaves_numbers_without_a_name(ada: User, backend: ScriptedBackend) -> None:
    await set_limit()
    await begin(ada, ask())
    await running.settle()
    await database_sync_to_async(erase)(SHELL, ada)
    [entry] = await entries()
    assert (entry.person_id, entry.key_id, entry.input_tokens, entry.turns) == (None, None, 10, 1)
    assert not await UsageCount.objects.aexists() and not await User.objects.filter(username="ada").aexists()


class Counting(ScriptedBackend):
    """Reports token counts like a server. Some answers fail, and some hang until they are stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = Counter[str]()
        self.sent = Usage(0, 0)
        self._chance = random.Random(7)

    async def sample(self, request: SampleRequest, take: Taker) -> SampleEnded:
        kind = self._chance.choice(["well"] * 6 + ["stopped", "fails", "refuses"])
        self.kinds[kind] += 1
        read, wrote = self._chance.randrange(1, 5000), self._chance.randrange(1, 900)
        script: list[Step] = [*frame(FINAL, "Four.", Terminator.RETURN), SampleEnded(EndReason.STOP, Usage(read, wrote), "counting")]
        if kind == "refuses":
            script = [BackendError(ProductCode.BACKEND_UNREACHABLE)]
        elif kind == "fails":
            script = [*script[:-2], BackendError(ProductCode.BACKEND)]
        elif kind == "stopped":
            script = [*script[:-2], asyncio.Event()]
        self.script = script
        ended = await super().sample(request, take)
        self.sent = Usage((self.sent.prompt_tokens or 0) + read, (self.sent.completion_tokens or 0) + wrote)
        return ended


@pytest.mark.slow
async def test_the_ledger_is_what_the_server_counted_over_many_turns(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Successful answers are booked exactly. Each of the others is one line that is marked as an estimate, and nothing stays reserved."""
    server = Counting()
    monkeypatch.setattr("chatui.model_servers.connected.backend", lambda choice="": server)
    await set_limit()
    crashed = 0
    for number in range(example_count(100)):
        turns = [(await begin(ada, ask(text=f"Question {number}"))).turn for _ in range(4)]
        for turn in turns:
            for _ in range(200):
                if server.waiting.is_set() or not await Turn.objects.filter(pk=turn.pk, state="running").aexists():
                    break
                await asyncio.sleep(0.001)
            await running.stop(running.TurnPlace(turn.pk, PROCESS))
        await running.settle()
        server.waiting.clear()
        if number % 10 == 0:
            crashed += await database_sync_to_async(crash)(ada)
    lines = await entries()
    exact = [line for line in lines if not line.is_estimate and line.output_tokens]
    assert sum(line.input_tokens for line in exact) == server.sent.prompt_tokens
    assert sum(line.output_tokens for line in exact) == server.sent.completion_tokens
    assert len(lines) == example_count(400) + crashed and all(server.kinds[kind] for kind in ("well", "stopped", "fails", "refuses"))
    row = await UsageCount.objects.aget()
    assert (row.reserved_tokens, row.reserved_turns) == (0, 0)
    assert row.month_tokens == sum(line.input_tokens + line.output_tokens for line in lines)
    assert row.month_turns == sum(line.turns for line in lines)


def crash(person: User) -> int:
    """A turn whose process has crashed."""
    store(person, ask(text="It dies"), "gone")
    Turn.objects.filter(lease_owner="gone", state="running").update(lease_until=timezone.now() - timedelta(minutes=5))
    try:
        return len(sweep.interrupt_abandoned())
    finally:
        connection.close()
