"""The overhead of a tool call within a turn: this product's own work, as ``make bench`` prints it."""

import pytest

from chatui.models.user import User
from tests.bench import tool_calls
from tests.chatui.tools import offering
from tests.chatui.turns.test_turns import ask, run
from tests.support.scripted import ScriptedBackend

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow
async def test_a_call_costs_at_most_half_of_a_turn_without_calls(
    ada: User, backend: ScriptedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offering.offer(monkeypatch, tool_calls.trivial, tool_calls=tool_calls.CALLS + 5)

    async def turn() -> None:
        assert (await run(ada, ask())).state == "completed"

    without, one = await tool_calls.costs(lambda calls: tool_calls.play(backend, "trivial", calls), turn)
    assert one <= tool_calls.MAX_OF_A_TURN * without, (without, one)
    assert len(backend.requests) > tool_calls.CALLS * tool_calls.TURNS, "the premise: it was called so often"
