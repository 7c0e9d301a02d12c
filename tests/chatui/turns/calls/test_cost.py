"""The overhead of a tool call within a turn: this product's own work, as ``make bench`` prints it."""

from __future__ import annotations

import pytest

from chatui.models.user import User
from tests.bench import tool_calls
from tests.chatui.tools import offering
from tests.chatui.turns.test_turns import ask, run
from tests.support.cost import unit_seconds
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow
async def test_a_call_has_at_most_five_milliseconds_of_overhead(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, tool_calls.trivial, tool_calls=tool_calls.CALLS + 5)

    async def turn() -> None:
        assert (await run(ada, ask())).state == "completed"

    found = []
    for _ in range(3):
        _, one = await tool_calls.costs(lambda calls: tool_calls.play(backend, "trivial", calls), turn)
        found.append(one / unit_seconds())
        if found[-1] <= tool_calls.MAX_MILLISECONDS:
            break
    assert min(found) <= tool_calls.MAX_MILLISECONDS, found
    assert len(backend.requests) > tool_calls.CALLS * tool_calls.TURNS, "the premise: it was called so often"
